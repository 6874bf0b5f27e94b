//! Repairs of a device's memory, and how near it came to the temperature that it slows down at.

use measure::record::{MonitorGap, MonitorLine, MonitorSample};
use topology::{RetiredPages, RowRemaps};

use super::{Played, profile, verdict};
use crate::cli::Level;
use crate::findings::Findings;
use crate::judge::judge;
use crate::profile::Profile;
use crate::report::{BoxVerdict, Check, Evidence, ReasonCode as R, Verdict};

/// A good box with what these readings of its second device say besides; the number counts them from 0 to 49.
fn with(change: impl Fn(u64, &mut MonitorSample)) -> Findings {
    let mut findings = Played::new("l40x4", 1, &[]).idle().findings(20);
    let mut reading = 0;
    for line in &mut findings.monitor {
        if let MonitorLine::Sample(sample) = line
            && sample.device == 1
        {
            change(reading, sample);
            reading += 1;
        }
    }
    assert_eq!(reading, 50);
    findings
}

fn judged_by(profile: &Profile, findings: &Findings) -> Vec<Check> {
    judge(profile, Level::Standard, findings, &[]).unwrap()
}

fn judged(findings: &Findings) -> Vec<Check> {
    judged_by(&profile("l40x4"), findings)
}

fn one<'a>(checks: &'a [Check], id: &str) -> &'a Check {
    checks.iter().find(|check| check.id == id).unwrap()
}

fn came(checks: &[Check], id: &str) -> (Verdict, R) {
    let check = one(checks, id);
    (check.verdict, check.reason.code)
}

const REPAIRS: &str = "memory_repairs GPU1";
const HEAT: &str = "temperature GPU1";

fn rows(corrected: u64, uncorrected: u64) -> RowRemaps {
    RowRemaps {
        corrected,
        uncorrected,
        pending: false,
        failed: false,
    }
}

fn of_rows(rows: impl Fn(u64) -> RowRemaps) -> Vec<Check> {
    judged(&with(|reading, sample| {
        sample.values.row_remaps = Some(rows(reading));
    }))
}

#[test]
fn no_repair_passes_and_one_of_before_warns() {
    let none = of_rows(|_| rows(0, 0));
    assert_eq!(came(&none, REPAIRS), (Verdict::Pass, R::AsExpected));
    // Others say nothing of theirs.
    assert_eq!(
        came(&none, "memory_repairs GPU0"),
        (Verdict::Skip, R::UnsupportedByDevice)
    );
    // Remapped for errors that were mended: the profile has no limit on those.
    assert_eq!(
        came(&of_rows(|_| rows(4, 0)), REPAIRS),
        (Verdict::Pass, R::AsExpected)
    );
    let before = of_rows(|_| rows(0, 2));
    let check = one(&before, REPAIRS);
    assert_eq!(
        (check.verdict, check.reason.code),
        (Verdict::Warn, R::MemoryRepaired)
    );
    assert_eq!(check.reason.text, "2 rows that were remapped for lost data");
    assert_eq!(check.limit.as_ref().unwrap().warn, Some(0.0));
    assert_eq!(verdict(&before), BoxVerdict::AcceptedWithWarnings);
}

#[test]
fn a_repair_that_failed_and_one_of_this_run_reject() {
    let failed = of_rows(|_| RowRemaps {
        failed: true,
        pending: true,
        ..rows(0, 9)
    });
    assert_eq!(came(&failed, REPAIRS), (Verdict::Fail, R::RepairFailed));
    assert_eq!(verdict(&failed), BoxVerdict::Rejected);
    for new in [(1, 0), (0, 1)] {
        let checks = of_rows(|reading| match reading {
            ..30 => rows(2, 0),
            _ => rows(2 + new.0, new.1),
        });
        let check = one(&checks, REPAIRS);
        assert_eq!(
            (check.verdict, check.reason.code),
            (Verdict::Fail, R::MemoryRepaired)
        );
        assert!(
            check.reason.text.contains(" in this run, "),
            "{}",
            check.reason.text
        );
        assert_eq!(verdict(&checks), BoxVerdict::Rejected);
    }
}

#[test]
fn a_repair_that_waits_for_a_reset_leaves_it_open() {
    let checks = of_rows(|_| RowRemaps {
        pending: true,
        ..rows(0, 1)
    });
    let check = one(&checks, REPAIRS);
    assert_eq!(
        (check.verdict, check.reason.code),
        (Verdict::Inconclusive, R::ResetPending)
    );
    assert_eq!(
        check.reason.text,
        "a row of memory waits for a reset of the device to be repaired; 1 row that was remapped for lost data"
    );
    // The profile demands it, and for its devices that tell nothing of theirs it is not demanded.
    assert!(check.required && !one(&checks, "memory_repairs GPU0").required);
    assert_eq!(verdict(&checks), BoxVerdict::Inconclusive);
}

#[test]
fn a_page_of_amd_s_waits_for_its_driver_and_not_for_a_reset() {
    let checks = judged(&with(|_, sample| {
        sample.values.retired_pages = Some(RetiredPages {
            pending: true,
            by_itself: true,
            ..RetiredPages::default()
        });
    }));
    let check = one(&checks, REPAIRS);
    assert_eq!(
        check.reason.text,
        "a page of memory waits until the driver takes it out of use"
    );
    let advice = check.advice.as_deref().unwrap();
    assert!(
        advice.contains("by itself") && !advice.contains("nvidia"),
        "{advice}"
    );
    assert_eq!(verdict(&checks), BoxVerdict::Inconclusive);
}

/// The first piece of evidence in words, which tables show.
fn first(check: &Check) -> (String, Option<String>) {
    match &check.evidence[0] {
        Evidence::Seen {
            value, expected, ..
        } => (value.clone(), expected.clone()),
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_decided_is_the_first_figure() {
    let of = |checks: Vec<Check>| first(one(&checks, REPAIRS));
    let words =
        |value: &str, expected: Option<&str>| (value.to_owned(), expected.map(str::to_owned));
    assert_eq!(of(of_rows(|_| rows(0, 0))), words("none", Some("none")));
    assert_eq!(of(of_rows(|_| rows(4, 0))), words("4 rows", None));
    assert_eq!(of(of_rows(|_| rows(0, 7))), words("7 rows", None));
    let later = of_rows(|reading| rows(0, 2 + u64::from(reading > 30)));
    assert_eq!(of(later), words("1 row in this run", Some("none in a run")));
    let pending = of_rows(|_| RowRemaps {
        pending: true,
        ..rows(0, 7)
    });
    assert_eq!(of(pending), words("one waits for a reset", Some("none")));
}

#[test]
fn a_count_that_falls_tells_nothing() {
    let checks = of_rows(|reading| rows(0, u64::from(reading < 10)));
    assert_eq!(
        came(&checks, REPAIRS),
        (Verdict::Inconclusive, R::CounterReset)
    );
}

#[test]
fn retired_pages_are_held_against_the_profile_and_pages_that_could_not_be_retired_reject() {
    let of = |profile: &Profile, retired: u64, failed: Option<u64>| {
        let findings = with(|_, sample| {
            sample.values.retired_pages = Some(RetiredPages {
                retired,
                failed,
                ..RetiredPages::default()
            });
        });
        came(&judged_by(profile, &findings), REPAIRS)
    };
    let base = profile("l40x4");
    assert_eq!(of(&base, 0, None), (Verdict::Pass, R::AsExpected));
    assert_eq!(of(&base, 60, None), (Verdict::Warn, R::MemoryRepaired));
    assert_eq!(of(&base, 2, Some(2)), (Verdict::Fail, R::RepairFailed));
    let mut strict = base.clone();
    let is_pages = |of: &Option<String>| of.as_deref() == Some("retired_pages");
    let row = strict
        .limit
        .iter_mut()
        .find(|row| is_pages(&row.of))
        .unwrap();
    row.fail = Some(59.0);
    assert_eq!(of(&strict, 59, None), (Verdict::Warn, R::MemoryRepaired));
    assert_eq!(of(&strict, 60, None), (Verdict::Fail, R::MemoryRepaired));
}

#[test]
fn what_may_not_be_read_is_open_and_what_is_not_there_says_why() {
    let of = |reason: &str| {
        let mut findings = with(|_, _| {});
        let Some(MonitorLine::Header(header)) = findings.monitor.first_mut() else {
            panic!("no header");
        };
        header.unavailable.push(MonitorGap {
            device: 1,
            key: Some("retired_pages".to_owned()),
            reason: reason.to_owned(),
        });
        let checks = judged(&findings);
        let check = one(&checks, REPAIRS);
        (check.verdict, check.reason.code, check.reason.text.clone())
    };
    let (verdict, code, text) = of("/sys/x/gpu_vram_bad_pages cannot be read; root alone");
    assert_eq!((verdict, code), (Verdict::Inconclusive, R::Permission));
    assert!(text.ends_with("root alone"), "{text}");
    let (verdict, code, text) = of("the kernel's driver shows no such file");
    assert_eq!((verdict, code), (Verdict::Skip, R::UnsupportedByDevice));
    assert!(text.ends_with("shows no such file"), "{text}");
}

/// The second device 60 degrees warm but for one reading, and slowing down at 92.
fn warm(hottest: u32) -> Vec<Check> {
    judged(&with(|reading, sample| {
        let now = if reading == 20 { hottest } else { 60 };
        sample.values.temperature_c = Some(now);
        sample.values.slowdown_c = Some(92);
        sample.values.temperature_margin_c = Some(92 - i32::try_from(now).unwrap());
    }))
}

#[test]
fn the_margin_of_the_hottest_reading_is_told_and_warns_within_five_degrees() {
    // 92 - 87 = 5, and the limit is 5 or more.
    let checks = warm(87);
    let check = one(&checks, HEAT);
    assert_eq!(
        (check.verdict, check.reason.code),
        (Verdict::Pass, R::WithinLimit)
    );
    assert_eq!(
        check.reason.text,
        "at most 87 degC, 5 degC below where it slows down, at the nearest of 50 readings"
    );
    let checks = warm(88);
    let check = one(&checks, HEAT);
    assert_eq!(
        (check.verdict, check.reason.code),
        (Verdict::Warn, R::NearSlowdown)
    );
    assert_eq!(check.limit.as_ref().unwrap().unit, "degC");
    assert_eq!(verdict(&checks), BoxVerdict::AcceptedWithWarnings);
    // 94 - 92.
    let text = &one(&warm(94), HEAT).reason.text.clone();
    assert!(text.contains("94 degC, 2 degC above where"), "{text}");
    // The others do not say at which temperature they slow down.
    assert_eq!(
        came(&checks, "temperature GPU0"),
        (Verdict::Skip, R::UnsupportedByDevice)
    );
}

#[test]
fn a_sensor_that_is_not_the_only_one_is_named_with_its_own_thresholds() {
    let checks = judged(&with(|reading, sample| {
        // At one reading the edge was the nearest; 100 - 70 = 30, and 110 - 99 = 11 of the junction.
        let (sensor, now, slowdown) = match reading {
            3 => ("edge", 70, 100),
            _ => ("junction", 99, 110),
        };
        sample.values.temperature_sensor = Some(sensor.to_owned());
        sample.values.temperature_c = Some(now);
        sample.values.slowdown_c = Some(slowdown);
        sample.values.temperature_margin_c = i32::try_from(slowdown - now).ok();
    }));
    let check = one(&checks, HEAT);
    assert_eq!(
        check.reason.text,
        "junction at most 99 degC, 11 degC below where it slows down, at the nearest of 50 readings"
    );
    let [
        Evidence::Measured { value, unit, n, .. },
        Evidence::Seen {
            what, value: seen, ..
        },
    ] = &check.evidence[..]
    else {
        panic!("{:?}", check.evidence);
    };
    assert_eq!((*value, unit.as_str(), *n), (11.0, "degC", 50));
    assert_eq!(what, "temperatures of the sensor junction");
    assert_eq!(seen, "junction at most 99 degC, slows down at 110 degC");
}

#[test]
fn a_profile_may_set_another_margin() {
    let mut strict = profile("l40x4");
    let row = strict
        .limit
        .iter_mut()
        .find(|row| row.check == "temperature")
        .unwrap();
    (row.warn, row.fail) = (Some(20.0), Some(10.0));
    let of = |now: i32| {
        let findings = with(|_, sample| sample.values.temperature_margin_c = Some(now));
        came(&judged_by(&strict, &findings), HEAT)
    };
    assert_eq!(of(20), (Verdict::Pass, R::WithinLimit));
    assert_eq!(of(10), (Verdict::Warn, R::NearSlowdown));
    assert_eq!(of(9), (Verdict::Fail, R::NearSlowdown));
}

#[test]
fn a_pass_shows_the_limit_that_it_was_held_against() {
    let mut lax = profile("l40x4");
    for row in &mut lax.limit {
        if row.of.as_deref() == Some("remapped_uncorrectable") {
            (row.warn, row.fail) = (Some(100.0), Some(200.0));
        }
    }
    let findings = with(|_, sample| sample.values.row_remaps = Some(rows(31, 7)));
    let checks = judged_by(&lax, &findings);
    let check = one(&checks, REPAIRS);
    assert_eq!(came(&checks, REPAIRS), (Verdict::Pass, R::WithinLimit));
    let limit = check.limit.as_ref().unwrap();
    assert_eq!((limit.warn, limit.fail), (Some(100.0), Some(200.0)));
    assert_eq!(first(check).0, "7 rows");
}
