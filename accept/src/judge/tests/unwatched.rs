//! Boxes whose driver or monitor stops answering in the middle of a run or towards its end: what nobody looked at is no pass.

use record::{MonitorEnd, MonitorLate, MonitorLine, MonitorSample};
use topology::RowRemaps;

use super::{Played, profile, verdict};
use crate::checks::Group;
use crate::cli::Level;
use crate::findings::Findings;
use crate::judge::{has_ended, judge};
use crate::report::{BoxVerdict, Came, Check, Evidence, ReasonCode as R, Verdict};

const BOX: &str = "l40x4";

/// The kinds that live on what the monitor reads of a device.
const KINDS: [&str; 4] = [
    "link_transitions",
    "throttle",
    "temperature",
    "memory_repairs",
];

const MS: u64 = 1_000_000;

/// The second device of a good box tells its repairs and its margin, and all of its readings go through `keep`: the number counts them
/// from 0 to 49, ten a second, each answered 1 ms later.
fn with(keep: impl Fn(u64, &mut MonitorSample) -> bool) -> Findings {
    let mut findings = Played::new(BOX, 1, &[]).idle().findings(20);
    let mut reading = 0;
    findings.monitor.retain_mut(|line| {
        let MonitorLine::Sample(sample) = line else {
            return true;
        };
        sample.values.row_remaps = Some(RowRemaps::default());
        sample.values.temperature_margin_c = Some(40);
        if sample.device != 1 {
            return true;
        }
        let number = reading;
        reading += 1;
        keep(number, sample)
    });
    assert_eq!(reading, 50);
    findings
}

/// A device that has not answered.
fn late(device: usize, at_ms: u64) -> MonitorLine {
    MonitorLine::Late(MonitorLate {
        device,
        at_ns: at_ms * MS,
        waited_ns: 100 * MS,
        what: "the reading through nvml has no answer after 0.1 s".to_owned(),
    })
}

fn end(at_ms: u64) -> MonitorLine {
    MonitorLine::End(MonitorEnd {
        at_ns: at_ms * MS,
        reason: "SIGTERM".to_owned(),
        samples: 0,
        late: 0,
        skipped: 0,
    })
}

fn judged_at(level: Level, findings: &Findings) -> Vec<Check> {
    judge(&profile(BOX), level, findings, &[])
}

fn judged(findings: &Findings) -> Vec<Check> {
    super::judged(BOX, findings)
}

fn one<'a>(checks: &'a [Check], kind: &str, label: &str) -> &'a Check {
    super::one(checks, &format!("{kind} {label}"))
}

fn came(checks: &[Check], kind: &str, label: &str) -> (Verdict, R) {
    super::came(checks, &format!("{kind} {label}"))
}

const LOST: (Verdict, R) = (Verdict::Inconclusive, R::Unreadable);

#[test]
fn a_device_that_answers_no_more_is_not_cleared_by_what_it_answered_before() {
    // Readings 0 to 14, the last answered at 1401 ms; from then on it is late, until 5500 ms.
    let mut findings = with(|number, _| number < 15);
    findings
        .monitor
        .extend((15..=55).map(|tenth| late(1, tenth * 100)));
    findings.monitor.push(end(5_500));
    let checks = judged(&findings);
    for kind in KINDS {
        assert_eq!(came(&checks, kind, "GPU1"), LOST, "{kind}");
        // The others were read until 4901 ms, 599 ms before the end.
        assert_eq!(came(&checks, kind, "GPU0").0, Verdict::Pass, "{kind}");
    }
    assert_eq!(verdict(&checks), BoxVerdict::Inconclusive);
    // Of a soak all of it is demanded.
    let checks = judged_at(Level::Soak, &findings);
    assert!(KINDS.iter().all(|kind| one(&checks, kind, "GPU1").required));
}

#[test]
fn a_row_of_before_is_no_word_on_what_came_behind_the_last_answer_and_a_fault_stands() {
    let of = |rows: RowRemaps| {
        let mut findings = with(|number, sample| {
            sample.values.row_remaps = Some(rows);
            number < 15
        });
        findings.monitor.push(end(5_500));
        judged(&findings)
    };
    let before = of(RowRemaps {
        uncorrected: 2,
        ..RowRemaps::default()
    });
    assert_eq!(came(&before, "memory_repairs", "GPU1"), LOST);
    let failed = of(RowRemaps {
        failed: true,
        ..RowRemaps::default()
    });
    assert_eq!(
        came(&failed, "memory_repairs", "GPU1"),
        (Verdict::Fail, R::ErrorsCounted)
    );
}

#[test]
fn a_call_that_blocks_in_the_middle_was_not_watched_and_what_the_device_counts_meanwhile_is_kept() {
    // One call takes 3000 ms more, and what follows comes as much later: 3001 of 7901 ms, 38%, without an answer.
    let of = |more: u64| {
        let findings = with(|number, sample| {
            if number >= 20 {
                sample.answered_ns += more * MS;
            }
            if number > 20 {
                sample.asked_ns += more * MS;
            }
            true
        });
        judged(&findings)
    };
    let blocked = of(3_000);
    for kind in ["link_transitions", "throttle", "temperature"] {
        assert_eq!(came(&blocked, kind, "GPU1"), LOST, "{kind}");
    }
    // It was read at the end, and tells what was repaired until then.
    assert_eq!(
        came(&blocked, "memory_repairs", "GPU1"),
        (Verdict::Pass, R::AsExpected)
    );
    // A busy machine: an answer that takes 0.9 s is one.
    for kind in KINDS {
        assert_eq!(came(&of(900), kind, "GPU1").0, Verdict::Pass, "{kind}");
    }
}

#[test]
fn a_watch_ends_after_ten_seconds_or_a_tenth_of_the_run_and_two_seconds() {
    use std::time::Duration;
    let ended = |silent: u64, whole: u64| {
        has_ended(Duration::from_millis(silent), Duration::from_millis(whole))
    };
    assert!(ended(2_000, 20_000) && !ended(2_000, 20_001));
    assert!(!ended(1_999, 2_000));
    assert!(ended(10_000, 3_600_000) && !ended(9_999, 3_600_000));
}

#[test]
fn a_rise_that_was_seen_stands_and_a_lost_monitor_clears_nothing() {
    // Replays of the second device: 3, then so many from the tenth reading on, and 0 behind a reset.
    let rows = |most: u32, last: u32, is_lost: bool| {
        let mut findings = with(|number, sample| {
            sample.values.pcie_replays = Some(match number {
                ..10 => 3,
                10..30 => most,
                _ => last,
            });
            true
        });
        if is_lost {
            let missing = Came::open(R::Unreadable).saying("lost");
            findings.missing.insert(Group::Watch, missing);
        }
        let checks = judged(&findings);
        let check = one(&checks, "counters", "GPU1");
        let replays = |evidence: &Evidence| match evidence {
            Evidence::Counted(counted) if counted.what.starts_with("pcie_replays") => {
                Some((counted.before, counted.after))
            }
            _ => None,
        };
        check.evidence.iter().find_map(replays).unwrap()
    };
    assert_eq!(rows(3, 3, false), (Some(3), Some(3)));
    assert_eq!(rows(4, 4, true), (Some(3), Some(4)));
    assert_eq!(rows(5, 0, false), (Some(3), Some(5)));
    assert_eq!(rows(3, 3, true), (Some(3), None));
}
