//! `accept explain`: every check and every reason has something to say.

use crate::checks::{KINDS, kind};
use crate::outputs::explain::{all, of_kind, of_reason};
use crate::report::{ReasonCode, Verdict};

#[test]
fn every_kind_names_a_reason_for_good_and_one_for_bad_or_open() {
    for kind in KINDS {
        let text = of_kind(kind);
        for needed in [
            kind.key,
            kind.looks_at.split(' ').next().unwrap_or_default(),
        ] {
            assert!(text.contains(needed), "{needed} in {text}");
        }
        assert!(
            text.contains("within_limit") || text.contains("as_expected"),
            "{text}"
        );
        assert!(
            text.lines().all(|line| line.chars().count() <= 120),
            "{text}"
        );
    }
}

#[test]
fn every_reason_has_its_meaning_and_stands_with_some_check() {
    for code in ReasonCode::ALL {
        let text = of_reason(*code);
        assert!(text.contains(code.word()), "{text}");
        let stands = text
            .lines()
            .find(|line| line.starts_with("  stands with "))
            .unwrap();
        assert!(stands.len() > "  stands with ".len(), "{text}");
        // What leaves a box undecided says what settles it.
        let is_open = code.verdicts() == [Verdict::Inconclusive];
        assert!(!is_open || text.contains("what to do"), "{text}");
    }
}

#[test]
fn a_check_is_explained() {
    insta::assert_snapshot!(of_kind(kind("symmetry").unwrap()), @r"
    symmetry: Links between devices
      looks at       whether a pair is as fast one way as the other
      how            difference of the two medians over the larger, with its interval
      does not see   small copies, which differ on healthy boxes
      what to do     the slower direction names the device whose upstream link to look at

    Reasons
      reason           comes with    means
      within_limit     pass          Measured within its limit, interval included.
      as_expected      pass          Seen as the profile expects it.
      asymmetric       fail or warn  The two directions of a pair differ by more than the limit.
      noisy            inconclusive  The interval lies across the limit after all samples that were allowed.
      too_few_samples  inconclusive  Too few samples for an interval.
      busy_device      inconclusive  Others use the device.
     and what any check can have: device_lost, rebooted, unreadable, permission, busy_host, worker_failed, out_of_memory,
     interrupted, not_applicable, unsupported_by_device, missing_library, budget, dependency_failed, excluded_by_user,
     not_asked
    ");
    insta::assert_snapshot!(of_reason(ReasonCode::Noisy), @r"
    noisy (inconclusive): The interval lies across the limit after all samples that were allowed.
      what to do  stop everything else on this machine and run again
      stands with h2d_pinned, d2h_pinned, h2d_pageable, d2h_pageable, bidirectional, p2p, p2p_staged, p2p_latency, symmetry,
                  spread, concurrent, numa_penalty, allreduce, drift, serving
    ");
    let all = all();
    let rows = all.lines().filter(|line| line.starts_with("  h2d_pinned "));
    assert_eq!(rows.count(), 1, "{all}");
}
