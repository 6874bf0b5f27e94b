//! Reports without a journal: what judges made agrees with itself and its profile, and what was changed in it does not.

use crate::judge::tests::{Plant, Played, profile, run};
use crate::profile::load;
use crate::report::{
    BoxVerdict, Check, Evidence, ReasonCode, Report, RunStatus, Verdict, contradiction, set_aside,
    unsound, untold,
};

const BOX: &str = "l40x4";

/// A report of a played box at level standard.
fn report(plants: &[Plant]) -> Report {
    report_of(BOX, plants)
}

/// The same of another box.
fn report_of(name: &str, plants: &[Plant]) -> Report {
    let checks = run(
        &profile(name),
        &mut Played::new(name, 1, plants).idle(),
        None,
    );
    let mut report = crate::made::report("n1", checks);
    report.profile.name = name.to_owned();
    report.profile.sha256 = load(name).unwrap().sha256;
    report.level = "standard".to_owned();
    report
}

fn told(change: impl Fn(&mut Report)) -> String {
    let mut report = report(&[Plant::SlowWay {
        from: 0,
        to: 1,
        part: 0.5,
    }]);
    change(&mut report);
    contradiction(&report).unwrap_or_default()
}

fn check<'a>(report: &'a mut Report, id: &str) -> &'a mut Check {
    report
        .checks
        .iter_mut()
        .find(|check| check.id == id)
        .unwrap()
}

#[test]
fn what_judges_made_agrees_with_itself() {
    for plants in [
        vec![],
        vec![Plant::Hot { device: 1 }],
        vec![Plant::Lost { device: 2 }],
        vec![Plant::Hangs { from: 0, to: 1 }],
        vec![Plant::SlowDevice {
            device: 3,
            part: 0.94,
        }],
        vec![Plant::OnNode { device: 0, node: 1 }],
        vec![Plant::SlowCollectives { times: 2.0 }],
        vec![Plant::Aer {
            device: 0,
            events: 40,
        }],
    ] {
        let report = report(&plants);
        assert_eq!(contradiction(&report), None, "{plants:?}");
        assert_eq!(unsound(&report), None, "{plants:?}");
    }
}

#[test]
fn what_judges_made_of_other_boxes_agrees_with_itself() {
    for name in ["rtxpro6000-bare", "mxc500x4", "r9700-x8", "h200x8"] {
        let report = report_of(name, &[]);
        assert_eq!(contradiction(&report), None, "{name}");
    }
}

#[test]
fn what_was_changed_in_it_is_named() {
    let slow = "p2p GPU0->GPU1";
    assert_eq!(told(|_| {}), "");
    for (what, said) in [
        (
            told(|report| {
                check(report, slow).required = false;
                report.verdict = BoxVerdict::of(&report.checks);
            }),
            "check `p2p GPU0->GPU1` is not required, and profile l40x4 demands it at level standard",
        ),
        (
            told(|report| report.exit_code = 3),
            "its verdict is REJECTED and its exit code 3",
        ),
        (
            told(|report| report.verdict = BoxVerdict::Inconclusive),
            "its verdict is INCONCLUSIVE and its checks come to REJECTED",
        ),
        (
            told(|report| {
                report.status = RunStatus::Broken;
                report.verdict = BoxVerdict::Inconclusive;
                report.exit_code = 0;
            }),
            "its verdict is INCONCLUSIVE and its exit code 0",
        ),
        (
            told(|report| report.checks.retain(|check| check.kind != "p2p")),
            "it has no check `p2p`, which profile l40x4 demands at level standard",
        ),
        (
            told(|report| report.level = "brief".to_owned()),
            "its level `brief` is none of profile l40x4",
        ),
        (
            told(|report| check(report, slow).limit.as_mut().unwrap().fail = Some(1.0)),
            "is held against a limit that profile l40x4 does not have",
        ),
        (
            told(|report| {
                let limit = check(report, slow).limit.as_mut().unwrap();
                (limit.fail, limit.warn) = (
                    limit.fail.map(|line| line / 2.0),
                    limit.warn.map(|line| line / 2.0),
                );
            }),
            "is held against a limit that profile l40x4 does not have",
        ),
        (
            told(|report| {
                let Evidence::Measured { low, .. } = &mut check(report, slow).evidence[0] else {
                    panic!("no figure");
                };
                *low = low.map(|low| low * 0.9);
            }),
            "that its samples do not give",
        ),
    ] {
        assert!(what.contains(said), "{what}");
    }
    // A verdict that its interval does not give, where all else fits it.
    let passes = told(|report| {
        let slow = check(report, slow);
        slow.verdict = Verdict::Pass;
        slow.reason.code = ReasonCode::WithinLimit;
        report.verdict = BoxVerdict::of(&report.checks);
        report.exit_code = report.verdict.exit_code();
    });
    assert_eq!(
        passes,
        "check `p2p GPU0->GPU1` passes and its interval does not lie within its limit"
    );
}

/// What is said of a slow pair that was made to pass, changed further.
fn passing(change: impl Fn(&mut Check)) -> String {
    told(|report| {
        for id in ["p2p GPU0->GPU1", "symmetry GPU0->GPU1 GPU1->GPU0"] {
            let slow = check(report, id);
            slow.verdict = Verdict::Pass;
            slow.reason.code = ReasonCode::WithinLimit;
            change(slow);
        }
        report.verdict = BoxVerdict::of(&report.checks);
        report.exit_code = report.verdict.exit_code();
    })
}

#[test]
fn a_pass_has_the_limit_of_its_profile_and_a_figure_with_interval_and_samples() {
    let figures = |check: &mut Check, change: &dyn Fn(&mut Evidence)| {
        check.evidence.iter_mut().for_each(change);
    };
    let fast = |evidence: &mut Evidence| {
        if let Evidence::Measured {
            value,
            low,
            high,
            samples,
            unit,
            ..
        } = evidence
        {
            // Better than any limit: a rate far above, a ratio of the difference far below.
            let good = if unit == "GB/s" { 50.0 } else { 0.001 };
            (*value, *low, *high) = (good, Some(good), Some(good));
            samples.clear();
        }
    };
    let no_ends = |evidence: &mut Evidence| {
        fast(evidence);
        if let Evidence::Measured { low, high, .. } = evidence {
            (*low, *high) = (None, None);
        }
    };
    for (what, said) in [
        (
            passing(|check| check.limit = None),
            "check `p2p GPU0->GPU1` passes without a limit, and profile l40x4 has one for it",
        ),
        (
            passing(|check| check.limit.as_mut().unwrap().unit = "x".to_owned()),
            "check `p2p GPU0->GPU1` is held against a limit that profile l40x4 does not have",
        ),
        (
            passing(|check| figures(check, &fast)),
            "check `p2p GPU0->GPU1` passes on an interval without samples",
        ),
        (
            passing(|check| figures(check, &no_ends)),
            "check `p2p GPU0->GPU1` passes on a figure without an interval",
        ),
        (
            passing(|check| {
                figures(check, &|evidence| {
                    if let Evidence::Measured { unit, .. } = evidence {
                        *unit = "GiB/s".to_owned();
                    }
                });
            }),
            "check `p2p GPU0->GPU1` passes on a figure in another unit than its limit",
        ),
    ] {
        assert_eq!(what, said);
    }
}

#[test]
fn required_checks_that_stand_aside_are_told() {
    let mut report = report(&[]);
    let before = set_aside(&report).len();
    let pair = check(&mut report, "p2p GPU0->GPU1");
    pair.verdict = Verdict::Skip;
    pair.reason.code = ReasonCode::NotApplicable;
    (pair.limit, pair.evidence) = (None, vec![]);
    let aside = set_aside(&report);
    assert_eq!(aside.len(), before + 1);
    assert!(aside.contains(&"p2p GPU0->GPU1"), "{aside:?}");
}

#[test]
fn another_profile_of_that_name_is_not_known_here() {
    let own = told(|report| {
        report.profile.sha256 = "ab".repeat(32);
        report.checks.retain(|check| check.kind != "numa_penalty");
        report.verdict = BoxVerdict::of(&report.checks);
    });
    assert_eq!(own, "");
}

/// What is said of a good report, changed, that still calls itself accepted.
fn of_good(kind: &str, change: impl Fn(&mut Check)) -> String {
    let mut report = report(&[]);
    let mut of_kind = report.checks.iter_mut().filter(|check| check.kind == kind);
    change(of_kind.next().unwrap());
    report.verdict = BoxVerdict::of(&report.checks);
    report.exit_code = report.verdict.exit_code();
    contradiction(&report).unwrap_or_default()
}

fn see(check: &mut Check, other: &str) {
    for evidence in &mut check.evidence {
        if let Evidence::Seen {
            value,
            expected: Some(_),
            ..
        } = evidence
        {
            *value = other.to_owned();
        }
    }
}

#[test]
fn what_was_seen_is_what_was_expected() {
    for (kind, value, says) in [
        ("link", "Gen4 x4", "`Gen4 x4` where `Gen4 x16` is expected"),
        ("link", "Gen3 x16", "`Gen3 x16` where"),
        ("link", "as ever", "`as ever` where"),
        (
            "data",
            "12 wrong",
            "`12 wrong` where `all as they were sent` is expected",
        ),
        (
            "inventory",
            "NVIDIA L4, 22.49 GiB",
            "where `NVIDIA L40` is expected",
        ),
    ] {
        let what = of_good(kind, |check| see(check, value));
        assert!(what.starts_with(&format!("check `{kind} ")), "{what}");
        assert!(
            what.contains(" passes and `") && what.contains(says),
            "{what}"
        );
    }
    // A link may be better than it must be.
    assert_eq!(of_good("link", |check| see(check, "Gen5 x16")), "");
    let nothing = of_good("data", |check| {
        for evidence in &mut check.evidence {
            if let Evidence::Seen { expected, .. } = evidence {
                *expected = None;
            }
        }
    });
    assert!(
        nothing.ends_with("is held against what is expected"),
        "{nothing}"
    );
}

#[test]
fn a_counter_that_rose_beyond_its_limit_does_not_pass() {
    let risen = |events: u64| {
        of_good("counters", |check| {
            for evidence in &mut check.evidence {
                if let Evidence::Counted { before, after, .. } = evidence {
                    *after = before.map(|before| before + events);
                }
            }
        })
    };
    assert_eq!(risen(0), "");
    let what = risen(99);
    assert!(
        what.starts_with("check `counters ") && what.ends_with(" beyond its limit"),
        "{what}"
    );
}

#[test]
fn a_slow_pair_neither_passes_nor_warns_without_its_limit_or_its_figure() {
    let pair = |verdict: Verdict, code: ReasonCode, change: &dyn Fn(&mut Check)| {
        told(|report| {
            for id in ["p2p GPU0->GPU1", "symmetry GPU0->GPU1 GPU1->GPU0"] {
                let slow = check(report, id);
                (slow.verdict, slow.reason.code) = (verdict, code);
                change(slow);
            }
            report.verdict = BoxVerdict::of(&report.checks);
            report.exit_code = report.verdict.exit_code();
        })
    };
    let other = |check: &mut Check| {
        check.limit = None;
        check.evidence = vec![Evidence::Seen {
            what: "peer access".to_owned(),
            value: "direct".to_owned(),
            expected: Some("direct".to_owned()),
            n: 1,
            source: "a record".to_owned(),
        }];
    };
    let limit = "check `p2p GPU0->GPU1` passes without a limit, and profile l40x4 has one for it";
    assert_eq!(pair(Verdict::Pass, ReasonCode::AsExpected, &other), limit);
    let no_limit = |check: &mut Check| check.limit = None;
    assert_eq!(
        pair(Verdict::Warn, ReasonCode::NearSlowdown, &no_limit),
        limit.replace("passes", "warns")
    );
    let seen = |check: &mut Check| {
        let limit = check.limit.take();
        other(check);
        check.limit = limit;
    };
    assert_eq!(
        pair(Verdict::Warn, ReasonCode::BelowFloor, &seen),
        "check `p2p GPU0->GPU1` warns without the figure that its limit is for"
    );
    // Half of what its like carry is below the line that fails.
    assert_eq!(
        pair(Verdict::Warn, ReasonCode::BelowFloor, &|_| {}),
        "check `p2p GPU0->GPU1` warns and its interval does not lie within the limit that fails"
    );
}

#[test]
fn what_says_that_the_driver_does_not_tell_it_is_named() {
    let mut report = report(&[]);
    let repairs = check(&mut report, "memory_repairs GPU0");
    repairs.verdict = Verdict::Skip;
    repairs.reason.code = ReasonCode::UnsupportedByDevice;
    (repairs.required, repairs.limit, repairs.evidence) = (false, None, vec![]);
    assert!(untold(&report).contains(&"memory_repairs GPU0"));
    assert_eq!(contradiction(&report), None);
}
