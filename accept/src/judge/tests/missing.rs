//! What is missing is never a pass: parts that were not measured, could not be read, or are of another box.

use record::Payload;

use super::{good, judged, profile, told, verdict};
use crate::checks::{Group, KINDS};
use crate::cli::Level;
use crate::findings::Findings;
use crate::judge::judge;
use crate::report::{BoxVerdict, Came, Check, ReasonCode as R, Verdict};

fn of<'a>(checks: &'a [Check], kind: &str) -> Vec<&'a Check> {
    checks.iter().filter(|check| check.kind == kind).collect()
}

#[test]
fn every_kind_has_a_check_and_every_id_stands_once() {
    for findings in [good(), Findings::default()] {
        let checks = judged("l40x4", &findings);
        for kind in KINDS {
            // Of these there is nothing here.
            if ["nvlink", "baseline"].contains(&kind.key) {
                continue;
            }
            assert!(!of(&checks, kind.key).is_empty(), "{}", kind.key);
        }
        let mut ids: Vec<&str> = checks.iter().map(|check| check.id.as_str()).collect();
        ids.sort_unstable();
        let before = ids.len();
        ids.dedup();
        assert_eq!(ids.len(), before);
    }
}

#[test]
fn nothing_found_leaves_a_box_open_with_no_pass() {
    let checks = judged("l40x4", &Findings::default());
    assert!(
        checks
            .iter()
            .all(|check| matches!(check.verdict, Verdict::Inconclusive | Verdict::Skip))
    );
    assert_eq!(verdict(&checks), BoxVerdict::Inconclusive);
}

#[test]
fn a_group_without_evidence_gives_its_checks_its_reason() {
    for (code, expected, of_box) in [
        (
            R::NotMeasured,
            Verdict::Inconclusive,
            BoxVerdict::Inconclusive,
        ),
        (R::Hang, Verdict::Fail, BoxVerdict::Rejected),
        (R::DeviceLost, Verdict::Fail, BoxVerdict::Rejected),
    ] {
        let mut findings = good();
        findings.collectives.clear();
        let text = "the ranks made no progress".to_owned();
        findings
            .missing
            .insert(Group::Collectives, Came::without(code).saying(text));
        let checks = judged("l40x4", &findings);
        let allreduce = of(&checks, "allreduce");
        assert_eq!(
            (allreduce[0].verdict, allreduce[0].reason.code),
            (expected, code)
        );
        assert_eq!(verdict(&checks), of_box, "{code:?}");
    }
}

#[test]
fn a_part_that_one_device_lacks_is_told_for_that_device() {
    let mut findings = good();
    if let Payload::Links(links) = &mut findings.links[0].it.payload {
        links.points.retain(|point| {
            !(point.case == "h2d_pinned_ce" && point.to == record::Endpoint::Device(2))
        });
    }
    let checks = judged("l40x4", &findings);
    let mut own = of(&checks, "h2d_pinned");
    own.retain(|check| check.is_open());
    assert_eq!((own.len(), own[0].reason.code), (1, R::NotMeasured));
    assert_eq!(own[0].about, ["GPU2"]);
    assert_eq!(verdict(&checks), BoxVerdict::Inconclusive);
}

#[test]
fn what_is_left_out_on_the_command_line_leaves_a_box_open_where_it_was_demanded() {
    let excluded = ["p2p".to_owned()];
    let checks = judge(&profile("l40x4"), Level::Standard, &good(), &excluded);
    assert_eq!(of(&checks, "p2p")[0].reason.code, R::LeftOut);
    assert_eq!(verdict(&checks), BoxVerdict::Inconclusive);
}

#[test]
fn a_soak_whose_monitor_was_lost_is_not_accepted_and_its_passes_cover_no_part_of_it() {
    let mut lost = good();
    let text = "the monitor was lost: it was ended by SIGKILL before the load ended".to_owned();
    let code = R::Unreadable;
    lost.missing
        .insert(Group::Watch, Came::without(code).saying(text));
    for (level, required) in [(Level::Soak, true), (Level::Standard, false)] {
        let checks = judge(&profile("l40x4"), level, &lost, &[]);
        for kind in ["link_transitions", "throttle"] {
            let own = of(&checks, kind);
            assert!(own.len() >= 4, "{own:?}");
            for check in own {
                assert_eq!(
                    (check.verdict, check.reason.code, check.required),
                    (Verdict::Inconclusive, R::Unreadable, required),
                    "{check:?}"
                );
            }
        }
    }
}

#[test]
fn memory_that_lost_data_before_the_run_is_warned_of() {
    let mut before = good();
    for row in &mut before.counters.as_mut().unwrap().rows {
        if row.key == "ecc_uncorrectable" && row.devices == ["GPU1"] {
            row.before = Some(7);
            row.after = Some(7);
        }
    }
    let checks = judged("l40x4", &before);
    let mut warned = of(&checks, "counters");
    warned.retain(|check| check.verdict != Verdict::Pass);
    assert_eq!((warned.len(), warned[0].verdict), (1, Verdict::Warn));
    assert_eq!(warned[0].about, ["GPU1"]);
}

#[test]
fn counters_that_fell_or_cannot_be_read_are_no_pass() {
    let mut fell = good();
    let mut refused = good();
    for row in &mut fell.counters.as_mut().unwrap().rows {
        row.after = Some(0);
    }
    for row in &mut refused.counters.as_mut().unwrap().rows {
        row.before = None;
    }
    for (findings, code) in [(fell, R::Unreadable), (refused, R::Unreadable)] {
        assert!(
            told(&judged("l40x4", &findings), "counters", "GPU0", code),
            "{code:?}"
        );
    }
}
