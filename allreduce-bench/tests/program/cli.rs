//! Command lines that are wrong: exit 2, one line that says what, and nothing left behind.

use record::{FailureKind, Status};

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
        (&["--gpus", "0"], "2 ranks or more"),
        (&["--gpus", "0,999"], "999"),
        (&["--tp", "64"], "one rank a device"),
        (&["--sizes", "3"], "3 B are not a whole number of bf16"),
        (&["--sizes", "64MB2"], "--sizes"),
        (
            &["--sizes", "2", "--dtype", "f32"],
            "not a whole number of f32",
        ),
        (&["--ccl", "libnccl.so.2"], "--ccl"),
        (&["--sim", "l40x4"], "leave one of them out"),
        (&["--json", "no/such/r.json"], "there is no folder"),
        (&["--json", "-", "--csv", "-"], "both want standard output"),
        (&["--plan"], "--model"),
        (&["--plan", "--model", "qwen2.5-72b", "--csv", "-"], "--csv"),
        (&["--iters", "5"], "--iters"),
    ] {
        let arguments = [&["--backend", "host", "--out", "out"], arguments].concat();
        scratch.run(&arguments).is_wrong_usage(says);
        assert!(is_absent(&scratch.join("out")), "{arguments:?}");
    }
}

#[test]
fn sizes_that_the_host_cannot_hold_are_no_measurement() {
    let scratch = Scratch::new();
    let arguments = ["--backend", "host", "--out", "out", "--sizes", "1024G"];
    let kept = scratch.left(scratch.run(&arguments));
    assert_eq!(kept.ran.code, 3, "{}", kept.ran.stderr);
    let Status::Refused { reason } = &kept.record.status else {
        panic!("{:?}", kept.record.status);
    };
    assert_eq!(reason.kind, FailureKind::OutOfMemory);
}
