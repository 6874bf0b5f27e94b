//! The command line: what is refused and in which words, what is listed, and which backend is taken.

use topology::{Machine, Sysfs};

use super::common::{Scratch, skip, two_gpus};

/// The keys of the cases of the set `core`, in the order in which they run.
const CORE: [&str; 10] = [
    "h2d_pinned_ce",
    "d2h_pinned_ce",
    "h2d_pageable_ce",
    "d2h_pageable_ce",
    "local_ce",
    "d2d_write_ce",
    "d2d_write_sm",
    "d2d_staged_ce",
    "host_chase_sm",
    "d2d_chase_sm",
];

/// Whether this machine has neither a GPU nor NVIDIA's driver; where it has, the caller's test is a skip.
fn no_gpu_here(scratch: &Scratch) -> bool {
    let machine = Machine::read(&Sysfs::real()).unwrap();
    let driver = scratch.run(&["--list", "--backend", "cuda"]).code == 0;
    if driver || !machine.gpus.is_empty() {
        skip(
            "tplens p2p: this machine has a GPU or its driver, so what happens without one cannot be seen",
        );
        return false;
    }
    true
}

#[test]
fn a_wrong_command_line_is_one_line_that_names_what_is_wrong() {
    let scratch = Scratch::new();
    for (arguments, says) in [
        (&["--gpus", "0,9999"][..], "--gpus 9999"),
        (&["--gpus", "0,0"], "device 0 twice"),
        (&["--gpus", ""], "empty entry"),
        (&["--gpus", "0,"], "empty entry"),
        (&["--gpus", "first"], "first"),
        (
            &["--gpus", "0", "--cases", "d2d_write_ce"],
            "need two devices",
        ),
        (&["--cases", "h2d_pinned_ce,nonsense"], "`nonsense`"),
        (&["--cases", ""], "no case matches"),
        (&["--sizes", "0"], "0 bytes"),
        (&["--sizes", "4X"], "`4X`"),
        (&["--sizes", "1G..1K"], "`1G..1K`"),
        (&["--sizes", ""], "empty list"),
        (&["--sizes", "-1"], "`-1`"),
        (&["--gpus", "-1"], "--gpus -1: neither"),
        (&["--gpus", "0,all"], "write it alone"),
        (
            &["--json", "same", "--csv", "same"],
            "--json and --csv both want same",
        ),
        (
            &["--json", "same", "--out", "same"],
            "--out and --json both want same",
        ),
        (&["--out", "/proc/version/a"], "/proc/version is a file"),
        (&["--out", "/proc/a"], "cannot write in the folder /proc"),
        (&["--json", "/proc/a"], "cannot write in the folder /proc"),
        (&["--samples", "0"], "'0'"),
        (&["--budget", "-1"], "`-1`"),
        (&["--deadline", "0"], "`0`"),
        (&["--backend", "metal"], "metal"),
        (&["--no-such-flag"], "--no-such-flag"),
        (
            &["--sim", "l40x4", "--backend", "host"],
            "leave one of them out",
        ),
    ] {
        let host: &[&str] = if arguments.contains(&"--backend") {
            &[]
        } else {
            &["--backend", "host"]
        };
        let ran = scratch.run(&[arguments, host].concat());
        ran.is_wrong_usage(says);
    }
    assert_eq!(
        std::fs::read_dir(scratch.path()).unwrap().count(),
        0,
        "a refused command line leaves no folder"
    );
}

#[test]
fn help_and_list_are_results() {
    let scratch = Scratch::new();
    let help = scratch.run(&["--help"]);
    assert_eq!((help.code, help.stderr.as_str()), (0, ""));

    let list = scratch.run(&["--list", "--backend", "host"]);
    assert_eq!(list.code, 0, "{}", list.stderr);
    let listed = list.stdout.lines().skip(1);
    let listed: Vec<Vec<&str>> = listed
        .take_while(|line| !line.is_empty())
        .map(|line| line.split_whitespace().take(2).collect())
        .collect();
    let core: Vec<&str> = listed
        .iter()
        .filter(|words| words[1] == "core")
        .map(|words| words[0])
        .collect();
    assert_eq!(core, CORE);
    assert!(listed.len() > CORE.len(), "{}", list.stdout);
    assert_eq!(std::fs::read_dir(scratch.path()).unwrap().count(), 0);
}

#[test]
fn a_driver_that_was_asked_for_and_is_not_there_is_exit_3() {
    let scratch = Scratch::new();
    if !no_gpu_here(&scratch) {
        return;
    }
    let ran = scratch.run(&["--backend", "cuda", "--out", "out"]);
    let kept = scratch.left(ran);
    assert_eq!((kept.ran.code, kept.ran.stdout.as_str()), (3, ""));
    let said = &kept.ran.stderr;
    assert!(
        said.contains("nothing was measured: cuda: libcuda.so.1 not found"),
        "{said}"
    );
    assert!(said.contains("install NVIDIA's driver"), "{said}");
    assert!(kept.links().points.is_empty());
}

#[test]
fn a_box_that_cannot_be_played_is_refused() {
    let scratch = Scratch::new();
    let unknown = scratch.run(&["--sim", "l40x5"]);
    unknown.is_wrong_usage("no box `l40x5`");
    for name in boxfile::builtin_names() {
        assert!(
            unknown.stderr.contains(name),
            "{name} in {}",
            unknown.stderr
        );
    }
    std::fs::write(scratch.join("broken.toml"), "schema = 1\nnane = \"x\"\n").unwrap();
    let broken = scratch.run(&["--sim", "broken.toml"]);
    assert_eq!(broken.code, 2);
    assert!(broken.stderr.contains("nane"), "{}", broken.stderr);
    let mut described = two_gpus();
    described.vendor = boxfile::Vendor::named("nvida");
    let ran = scratch.run(&["--sim", &scratch.write_box(&described)]);
    ran.is_wrong_usage("no driver is known for a box with `vendor = \"nvida\"`");
    assert!(ran.stderr.contains("nvidia, amd, metax"), "{}", ran.stderr);
}
