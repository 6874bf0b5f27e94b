//! Faults of the collective library: each is told in words, what can be measured is, and nobody is left behind.

use boxfile::{BoxFile, Fault};
use record::{CallMode, CollectiveOutcome, Verification};

use super::common::{Kept, Scratch, exact_us, no_progress, with};

const QUICK: [&str; 6] = [
    "--samples",
    "6",
    "--modes",
    "back-to-back",
    "--deadline",
    "3",
];

/// Calls of a communicator on [`two_gpus`] at each size: one to prepare, 1 + 4 to find out how long a call takes and six samples of
/// 1 + 4: 50 us a call are 4 calls in 200 us, and equal samples end it at six. That is 36 for one size; joining is no call.
const SIZE: u64 = 36;

fn sizes(fault: Fault, sizes: &str) -> Kept {
    Scratch::new().soft(&with(fault), &[&QUICK[..], &["--sizes", sizes]].concat())
}

fn three_sizes(fault: Fault) -> Kept {
    sizes(fault, "4K,8K,16K")
}

fn of(kept: &Kept, kib: u64) -> &CollectiveOutcome {
    kept.reduced(kib << 10, CallMode::BackToBack)
}

#[test]
fn a_wrong_sum_is_exit_5_whether_it_was_wrong_before_or_while_it_was_timed() {
    for after_calls in [0, SIZE - 1] {
        let kept = three_sizes(Fault::CollectiveWrong {
            rank: 1,
            after_calls,
            captured: false,
        });
        assert_eq!(kept.ran.code, 5, "{}", kept.ran.stderr);
        let CollectiveOutcome::Measured { verification, .. } = of(&kept, 4) else {
            panic!("{:?}", of(&kept, 4));
        };
        assert!(
            matches!(verification, Verification::WrongData { seen } if seen.contains("element")),
            "after {after_calls}: {verification:?}"
        );
    }
}

#[test]
fn a_graph_whose_calls_are_wrong_is_told_though_the_same_calls_are_right_one_by_one() {
    let fault = Fault::CollectiveWrong {
        rank: 1,
        after_calls: 0,
        captured: true,
    };
    let more = ["--sizes", "4K", "--samples", "6"];
    let modes = ["--modes", "back-to-back,graph,interleaved"];
    let kept = Scratch::new().soft(&with(fault), &[&more[..], &modes[..]].concat());
    assert_eq!(kept.ran.code, 5, "{}", kept.ran.stderr);
    exact_us(kept.reduced(4096, CallMode::BackToBack));
    for mode in [CallMode::Graph, CallMode::Interleaved] {
        let outcome = kept.reduced(4096, mode);
        let CollectiveOutcome::Measured { verification, .. } = outcome else {
            panic!("{outcome:?}");
        };
        let is_wrong = matches!(verification, Verification::WrongData { .. });
        assert!(is_wrong, "{mode}: {verification:?}");
    }
}

#[test]
fn a_hang_is_told_with_the_ranks_that_wait_and_fresh_ranks_go_on() {
    // In the second size; the third, with fresh ranks, ends before.
    let kept = three_sizes(Fault::CollectiveHang {
        rank: 1,
        after_calls: SIZE + 10,
        protocol: None,
    });
    assert_eq!(kept.ran.code, 3, "{}", kept.ran.stderr);
    exact_us(of(&kept, 4));
    let said = no_progress(of(&kept, 8));
    assert!(
        said.is_some_and(|said| said.contains("rank 1")),
        "{:?}",
        of(&kept, 8)
    );
    exact_us(of(&kept, 16));
}

#[test]
fn a_rank_that_dies_is_named_and_fresh_ranks_go_on() {
    let kept = three_sizes(Fault::CollectiveDeath {
        rank: 1,
        after_calls: SIZE + 10,
    });
    assert_eq!(kept.ran.code, 3, "{}", kept.ran.stderr);
    exact_us(of(&kept, 4));
    let CollectiveOutcome::Failed { reason } = of(&kept, 8) else {
        panic!("{:?}", of(&kept, 8));
    };
    assert!(
        reason.contains("rank 1") && reason.contains("signal: 9"),
        "{reason}"
    );
    exact_us(of(&kept, 16));
}

#[test]
fn ranks_that_cannot_join_are_told_in_the_librarys_words() {
    // ncclSystemError is 2.
    let kept = three_sizes(Fault::CollectiveInitFailure { rank: 1, code: 2 });
    assert_eq!(kept.ran.code, 3, "{}", kept.ran.stderr);
    let CollectiveOutcome::Failed { reason } = of(&kept, 4) else {
        panic!("{:?}", of(&kept, 4));
    };
    assert!(
        reason.contains("rank 1: joining the communicator"),
        "{reason}"
    );
    assert!(reason.contains("system error"), "{reason}");
    // The library is known although nothing was measured.
    assert!(kept.collectives().library.is_some());
}

#[test]
fn a_driver_that_does_not_start_is_a_refusal_with_a_record() {
    let kept = Scratch::new().soft(&with(Fault::InitFailure { code: 999 }), &QUICK);
    assert_eq!(kept.ran.code, 3);
    assert_eq!(kept.ran.stdout, "");
    assert!(
        kept.ran.stderr.contains("nothing was measured"),
        "{}",
        kept.ran.stderr
    );
}

#[test]
fn what_is_known_to_take_hosts_down_needs_risk() {
    let mut described = BoxFile::builtin("l40x4").unwrap();
    for device in &mut described.device {
        device.pci_id = "1002:7551".to_owned();
    }
    let on = |more: &[&str]| {
        let few = [&QUICK[..], &["--gpus", "0,1", "--sizes", "4K"], more].concat();
        Scratch::new().soft(&described, &few)
    };
    let careful = on(&[]);
    assert_eq!(careful.ran.code, 3, "{}", careful.ran.stderr);
    assert!(
        careful.ran.stderr.contains("--risk"),
        "{}",
        careful.ran.stderr
    );
    assert_eq!(on(&["--risk"]).ran.code, 0);
}
