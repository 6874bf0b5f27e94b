//! The built program: links of old names, `show` and `compare` by the kind of the file, and hurtful files for every reader.
#![expect(clippy::unwrap_used, reason = "helpers of tests")]

mod fuzz;

use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, Output};

fn ran(name: &str, words: &[&str]) -> Output {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_tplens"));
    let command = command.arg0(name).args(words).current_dir(root);
    command.output().unwrap()
}

#[test]
fn a_link_of_an_old_name_is_its_command() {
    for (name, words) in [
        ("p2p-bw", &["p2p", "--help"]),
        ("allreduce-bench", &["allreduce", "--help"]),
        ("serve-bench", &["serve", "--help"]),
        ("accept", &["accept", "--help"]),
    ] {
        let (old, new) = (ran(name, &words[1..]), ran("tplens", words));
        assert_eq!(new.status.code(), Some(0));
        assert_eq!(old, new, "{name}");
    }
    let (old, new) = (
        ran("serve-bench", &["predict", "--help"]),
        ran("tplens", &["predict", "--help"]),
    );
    assert_eq!(old, new);
}

#[test]
fn a_file_is_shown_by_the_command_that_knows_it() {
    let records = "crates/import/tests/fixtures/records";
    for (file, command) in [
        ("links.json", "p2p"),
        ("numa.json", "p2p"),
        ("collectives.json", "allreduce"),
        ("serve.json", "serve"),
    ] {
        let file = format!("{records}/{file}");
        let shown = ran("tplens", &["show", &file, "--csv"]);
        assert_eq!(shown.status.code(), Some(0), "{file}");
        assert_eq!(
            shown,
            ran("tplens", &[command, "show", &file, "--csv"]),
            "{file}"
        );
    }
    for (file, command) in [
        ("links/nvbandwidth-0.8.json", "p2p"),
        ("collectives/nccl-2.14-quoted.txt", "allreduce"),
        ("../../../../golden/inputs/case5-sweep.jsonl", "serve"),
    ] {
        let file = format!("crates/import/tests/fixtures/{file}");
        let shown = ran("tplens", &["show", &file]);
        assert_eq!(shown.status.code(), Some(0), "{file}");
        assert_eq!(shown, ran("tplens", &[command, "show", &file]), "{file}");
    }
    let file = "crates/import/tests/fixtures/links/nvbandwidth-0.8.json";
    let compared = ran("tplens", &["compare", file, file]);
    assert_eq!(compared, ran("tplens", &["p2p", "compare", file, file]));
    assert_eq!(compared.status.code(), Some(0));
    let serving = "golden/inputs/case2-tp1.json";
    let mixed = ran("tplens", &["compare", serving, file]);
    assert_eq!(mixed.status.code(), Some(2));
    let said = String::from_utf8(mixed.stderr).unwrap();
    assert!(said.contains("serving") && said.contains("links"), "{said}");
}

#[test]
fn a_code_has_its_page_and_a_shell_its_completions() {
    let page = ran("tplens", &["help", "device-busy"]);
    let class = ran("tplens", &["help", "PIX"]);
    let shell = ran("tplens", &["completions", "bash"]);
    for output in [page, class, shell] {
        assert_eq!(output.status.code(), Some(0));
        assert!(output.stdout.len() > 100);
    }
    let near = ran("tplens", &["help", "busy"]);
    assert_eq!(near.status.code(), Some(2));
    assert!(
        String::from_utf8_lossy(&near.stderr).contains("codes with it: client-busy, device-busy")
    );
}

#[test]
fn results_that_say_their_size_are_explained_in_any_order() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let with_size = |tp: u32| {
        let name = format!("case2-tp{tp}.json");
        let text = std::fs::read_to_string(root.join("golden/inputs").join(&name)).unwrap();
        let mut result: serde_json::Value = serde_json::from_str(&text).unwrap();
        result["tp"] = tp.into();
        let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        std::fs::write(&file, result.to_string()).unwrap();
        file.display().to_string()
    };
    let (one, two) = (with_size(1), with_size(2));
    let more = ["--model", "qwen2.5-vl-72b-fp8", "--json", "-"];
    let by_flags = ["explain", "--tp1", &one, "--tp2", &two];
    let flagged = ran("tplens", &[&by_flags[..], &more].concat());
    assert_eq!(flagged.status.code(), Some(0));
    let sorted = ran("tplens", &[&["explain", &two, &one][..], &more].concat());
    assert_eq!(flagged.stdout, sorted.stdout);
    let unsized_file = "golden/inputs/case2-tp1.json";
    let refused = ran(
        "tplens",
        &[&["explain", unsized_file, &two][..], &more].concat(),
    );
    assert_eq!(refused.status.code(), Some(2));
}
