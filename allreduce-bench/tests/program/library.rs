//! `library`: what a collective library says of itself, in a process of its own.

use super::common::{Ran, Scratch};

/// Where `cargo xtask soft` puts the simulated libraries.
fn soft_library() -> String {
    let program = built::file();
    let target = program.parent().unwrap().parent().unwrap();
    let file = target.join("soft").join("libnccl.so.2");
    file.to_str().unwrap().to_owned()
}

#[test]
fn a_library_that_loads_tells_its_version_and_makes_an_id_that_is_not_shown() {
    let scratch = Scratch::new();
    let file = soft_library();
    let ran = scratch.run(&["library", "--backend", "cuda", "--ccl", &file]);
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    // NCCL_UNIQUE_ID_BYTES is 128 (nccl.h).
    assert!(ran.stdout.contains("128 B"), "{}", ran.stdout);
    scratch.nobody_is_left();
}

#[test]
fn a_library_that_does_not_load_is_exit_3_and_names_each_that_was_tried() {
    let scratch = Scratch::new();
    std::fs::write(scratch.join("libother.so"), "no library").unwrap();
    let ran: Ran = scratch.run(&["library", "--ccl", &scratch.text("libother.so")]);
    assert_eq!(ran.code, 3, "{}{}", ran.stdout, ran.stderr);
    assert_eq!(ran.stdout, "");
    for backend in ["cuda", "hip", "maca"] {
        let named = format!("{backend}: ");
        assert!(ran.stderr.contains(&named), "{}", ran.stderr);
    }
    scratch.nobody_is_left();
}

#[test]
fn a_path_that_is_not_there_and_a_backend_without_library_are_wrong_usage() {
    let scratch = Scratch::new();
    let nowhere = ["library", "--ccl", "nowhere"];
    scratch.run(&nowhere).is_wrong_usage("nowhere");
    let host = ["library", "--backend", "host"];
    scratch.run(&host).is_wrong_usage("loads no library");
}
