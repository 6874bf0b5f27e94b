//! Command lines that are wrong: exit 2, one line that says what, and nothing left behind.

use super::common::{Scratch, is_absent};

#[test]
fn what_cannot_be_measured_is_refused_in_words() {
    let scratch = Scratch::new();
    for (arguments, says) in [
        (&["--model", "gpt-2000"][..], "gpt-2000"),
        (
            &["--model", "qwen2.5-72b", "--tp", "3"],
            "64 attention heads",
        ),
        (
            &["--gpus", "0", "--tp", "2"],
            "--tp 2 and --gpus with 1 device(s)",
        ),
        (&["--gpus", "0"], "two ranks"),
        (&["--gpus", "0,999"], "999"),
        (&["--tp", "64"], "one rank a device"),
        (&["--sizes", "3"], "3 B are not a whole number of bf16"),
        (&["--sizes", "64MB2"], "--sizes"),
        (
            &["--sizes", "2", "--dtype", "f32"],
            "not a whole number of f32",
        ),
        (&["--sizes", "1024G"], "use smaller --sizes"),
        (&["--ccl", "libnccl.so.2"], "--ccl"),
        (&["--arm", "NCCL_P2P_DISABLE=1"], "NAME: VARIABLE=VALUE"),
        (&["--arm", "a: LD_PRELOAD=x"], "LD_PRELOAD"),
        (&["--arm", "a:", "--arm", "a:"], "two arms"),
        (&["--sim", "l40x4"], "leave one of them out"),
        (&["--json", "no/such/r.json"], "there is no folder"),
        (&["--json", "-", "--csv", "-"], "both want standard output"),
        (&["--plan"], "--model"),
        (
            &["--plan", "--model", "qwen2.5-72b", "--json", "r.json"],
            "makes no record for --json",
        ),
        (
            &["--plan", "--model", "qwen2.5-72b", "--csv", "-"],
            "makes no record for --csv",
        ),
        (&["--iters", "5"], "--iters"),
    ] {
        let arguments = [&["--backend", "host", "--out", "out"], arguments].concat();
        scratch.run(&arguments).is_wrong_usage(says);
        assert!(is_absent(&scratch.join("out")), "{arguments:?}");
    }
}

#[test]
fn a_folder_that_holds_a_result_is_not_touched() {
    let scratch = Scratch::new();
    std::fs::create_dir(scratch.join("out")).unwrap();
    std::fs::write(scratch.join("out/record.json"), "kept").unwrap();
    let ran = scratch.run(&["--backend", "host", "--sizes", "4K", "--out", "out"]);
    ran.is_wrong_usage("holds a result already");
    let kept = std::fs::read_to_string(scratch.join("out/record.json")).unwrap();
    assert_eq!(kept, "kept");
}

#[test]
fn a_list_names_the_devices_and_leaves_nothing() {
    let scratch = Scratch::new();
    let ran = scratch.run(&["--backend", "host", "--list"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(ran.stdout.contains("host memory"), "{}", ran.stdout);
    assert_eq!(std::fs::read_dir(scratch.join(".")).unwrap().count(), 0);
}

#[test]
fn what_is_no_result_cannot_be_shown() {
    let scratch = Scratch::new();
    scratch.run(&["show", "nowhere"]).is_wrong_usage("nowhere");
}

#[test]
fn help_shows_defaults_and_units() {
    let ran = Scratch::new().run(&["--help"]);
    assert_eq!(ran.code, 0);
    for part in [
        "[default: 30]",
        "Seconds to aim at",
        "8..8M",
        "[default: all_reduce]",
        "Microseconds of the device's own work",
        "host-synced",
        "--plan",
    ] {
        assert!(ran.stdout.contains(part), "no `{part}` in {}", ran.stdout);
    }
}

#[test]
fn a_path_that_is_not_there_is_named_with_what_to_give() {
    for (arguments, give) in [
        (&["show", "/nonexistent/run"][..], "give a result folder"),
        (
            &["compare", "/nonexistent/a", "/nonexistent/b"],
            "give a result folder",
        ),
        (
            &["library", "--ccl", "/nonexistent/lib"],
            "name the library's file",
        ),
    ] {
        let ran = Scratch::new().run(arguments);
        assert_eq!(ran.code, 2, "{}", ran.stderr);
        assert!(
            ran.stderr.contains("/nonexistent/") && ran.stderr.contains(give),
            "{}",
            ran.stderr
        );
    }
}

#[test]
fn a_path_draws_nothing_on_a_terminal() {
    let scratch = Scratch::new();
    // Sets a title, clears the screen with a CSI of one byte, and turns the line around.
    let name = "x\u{1b}]0;owned\u{7}\u{9b}2J\u{202e}";
    for words in [
        &["show", name][..],
        &["compare", name, name],
        &["--backend", "host", "--model", name],
        &[name],
    ] {
        let ran = scratch.run(words);
        let is_hostile = |c: char| measure::control::is_unseen(c) && !matches!(c, '\n' | '\t');
        assert!(
            !ran.stdout.contains(is_hostile),
            "{words:?}: {:?}",
            ran.stdout
        );
        assert!(
            !ran.stderr.contains(is_hostile),
            "{words:?}: {:?}",
            ran.stderr
        );
        assert!(
            ran.stderr.contains(r"\u009b2J\u202e"),
            "{words:?}: {}",
            ran.stderr
        );
        assert_eq!(ran.code, 2, "{words:?}");
    }
}
