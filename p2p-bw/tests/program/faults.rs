//! Boxes on which something goes wrong in the driver, in memory, or on a device: each ends in a valid record.

use boxfile::{Direction, Fault, HangOp};
use record::{FailureKind, Outcome, PeerVerdict, Status, Verification};

use super::common::{HOST, Kept, Scratch, gpu, with};

/// Seconds without progress that count as a hang: soft copies of 64 KiB take microseconds.
const DEADLINE: [&str; 2] = ["--deadline", "2"];

fn run(fault: Fault, more: &[&str]) -> Kept {
    let scratch = Scratch::new();
    scratch.soft(&with(fault), &[&DEADLINE, more].concat())
}

fn is_hang(outcome: &Outcome) -> bool {
    matches!(outcome, Outcome::Hang { .. })
}

fn is_wrong(outcome: &Outcome) -> bool {
    use Outcome::Measured;
    matches!(
        outcome,
        Measured {
            verification: Verification::WrongData { .. },
            ..
        }
    )
}

#[test]
fn a_driver_that_cannot_be_initialised_is_a_refusal_with_its_words() {
    // 999 is CUDA_ERROR_UNKNOWN (cuda.h).
    let kept = run(Fault::InitFailure { code: 999 }, &[]);
    nothing_was_measured(&kept, "CUDA_ERROR_UNKNOWN");
}

fn nothing_was_measured(kept: &Kept, why: &str) {
    assert_eq!((kept.ran.code, kept.ran.stdout.as_str()), (3, ""));
    let Status::Refused { reason } = &kept.record.status else {
        panic!("{:?}", kept.record.status);
    };
    for text in [&reason.detail, &kept.ran.stderr] {
        assert!(text.contains(why), "no `{why}` in {text}");
        assert!(text.contains("2 GPU(s) at 0000:21:00.0 (NVIDIA)"), "{text}");
    }
    assert!(kept.links().points.is_empty());
    let simulated = kept.record.header.simulated.as_ref().unwrap();
    assert_eq!(simulated.box_name, "two-l40");
}

#[test]
fn wrong_data_to_a_device_is_exit_5_and_its_numbers_are_not_printed() {
    let scratch = Scratch::new();
    let fault = Fault::WrongData {
        pair: None,
        direction: Some(Direction::H2d),
        device: Some(0),
    };
    let kept = scratch.soft(&with(fault), &["--no-peer", "--csv", "r.csv"]);
    assert_eq!(kept.ran.code, 5, "{}", kept.ran.stderr);
    assert!(is_wrong(kept.outcome("h2d_pinned_ce", HOST, gpu(0))));
    assert!(is_wrong(kept.outcome("h2d_pageable_ce", HOST, gpu(0))));
    assert!(kept.is_measured("h2d_pinned_ce", HOST, gpu(1)));
    assert!(kept.is_measured("local_ce", gpu(1), gpu(1)));
    let csv = std::fs::read_to_string(scratch.join("r.csv")).unwrap();
    let row = csv
        .lines()
        .find(|row| row.starts_with("h2d_pinned_ce,bandwidth,host,GPU0,"));
    let cells: Vec<&str> = row.unwrap().split(',').collect();
    assert_eq!(
        (cells[5], cells[6], cells[17]),
        ("measured", "", "WRONG DATA")
    );
}

#[test]
fn data_that_reaches_no_device_right_is_not_held_against_its_peer() {
    let fault = Fault::WrongData {
        pair: None,
        direction: Some(Direction::H2d),
        device: Some(0),
    };
    let kept = run(fault, &["--cases", "d2d_write_ce"]);
    // Device 0 is the source of its own writes, and of what device 1 reads after its writes were right.
    for (from, to, step) in [(0, 1, "write"), (1, 0, "read")] {
        let probe = kept.probe(from, to);
        assert_eq!(probe.verdict, PeerVerdict::Failed, "{probe:?}");
        let why = format!("step `{step}`: the copy from the host to device 0");
        assert!(probe.rests_on.starts_with(&why), "{}", probe.rests_on);
    }
}

#[test]
fn a_device_that_is_lost_is_tried_twice_and_the_other_is_measured() {
    // Fewer copies than one point has: two warm-ups, one timed to size the samples, six samples.
    let fault = Fault::DeviceLost {
        device: 0,
        after_copies: 3,
        off_the_bus: None,
    };
    let kept = run(fault, &[]);
    assert_eq!(kept.ran.code, 3);
    assert_eq!(kept.probe(0, 1).verdict, PeerVerdict::Failed);
    assert!(kept.probe(0, 1).rests_on.contains("device lost"));
    let host_cases = [
        "h2d_pinned_ce",
        "d2h_pinned_ce",
        "h2d_pageable_ce",
        "d2h_pageable_ce",
    ];
    let of = |position: usize| {
        host_cases.map(|case| match case.starts_with("h2d") {
            true => kept.outcome(case, HOST, gpu(position)),
            false => kept.outcome(case, gpu(position), HOST),
        })
    };
    let [first, second, third, fourth] = of(0);
    for outcome in [first, second] {
        let Outcome::Failed { reason } = outcome else {
            panic!("{outcome:?}");
        };
        assert!(
            reason.kind == FailureKind::DeviceLost && reason.contains("Xid"),
            "{reason}"
        );
    }
    for outcome in [third, fourth] {
        let Outcome::Skipped { reason } = outcome else {
            panic!("{outcome:?}");
        };
        assert!(reason.contains("GPU0 failed 2 times"), "{reason}");
    }
    assert!(kept.is_measured("h2d_pinned_ce", HOST, gpu(1)));
    assert!(kept.is_measured("local_ce", gpu(1), gpu(1)));
}

fn hang(op: HangOp, device: Option<usize>, pair: Option<[usize; 2]>) -> Fault {
    Fault::Hang {
        op,
        device,
        pair,
        after_copies: 0,
    }
}

#[test]
fn a_copy_to_a_device_that_never_ends_is_a_hang_of_that_device_only() {
    let kept = run(hang(HangOp::H2d, Some(0), None), &["--no-peer"]);
    assert_eq!(kept.ran.code, 3);
    assert!(is_hang(kept.outcome("h2d_pinned_ce", HOST, gpu(0))));
    // What leaves device 0 was written to it before, so the second hang is there and the device is given up.
    assert!(is_hang(kept.outcome("d2h_pinned_ce", gpu(0), HOST)));
    let third = kept.outcome("h2d_pageable_ce", HOST, gpu(0));
    assert!(matches!(third, Outcome::Skipped { .. }), "{third:?}");
    for (case, from, to) in [
        ("h2d_pinned_ce", HOST, gpu(1)),
        ("d2h_pageable_ce", gpu(1), HOST),
        ("local_ce", gpu(1), gpu(1)),
    ] {
        assert!(kept.is_measured(case, from, to), "{case}");
    }
}
