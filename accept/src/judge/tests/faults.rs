//! Faults that reject whatever they are met by, figures that are not of one kind, and what was left out or seen too short.

use record::{Endpoint, Outcome, Point, Verification};

use super::{good, judged, links, one, profile, verdict};
use crate::cli::Level;
use crate::findings::Findings;
use crate::judge::judge;
use crate::report::{BoxVerdict, ReasonCode as R, Verdict};

/// A case of direct copies of a pair, by the numbers of its ends, is not there.
fn forget(findings: &mut Findings, pair: (usize, usize)) {
    let ends = (Endpoint::Device(pair.0), Endpoint::Device(pair.1));
    let is_direct = |point: &Point| ["d2d_write_ce", "d2d_read_ce"].contains(&point.case.as_str());
    let staged = links(findings).points.iter().find_map(|point| {
        let is_it = (point.from, point.to) == ends && point.case == "d2d_write_ce";
        is_it.then(|| point.outcome.clone())
    });
    let points = &mut links(findings).points;
    points.retain(|point| (point.from, point.to) != ends || !is_direct(point));
    // The same figure, by way of host memory.
    for point in points {
        if (point.from, point.to) == ends && point.case == "d2d_staged_ce" {
            point.outcome = staged.clone().unwrap();
        }
    }
}

#[test]
fn a_hang_a_loss_and_wrong_data_reject_though_nobody_demands_the_check_they_are_met_by() {
    let lost = record::FailureKind::DeviceLost.of("cuMemcpyAsync returned 719");
    let doing = "timed copies: no progress for 5 s".to_owned();
    for (outcome, code) in [
        (Some(Outcome::Hang { doing }), R::Hang),
        (Some(Outcome::Failed { reason: lost }), R::DeviceLost),
        (None, R::WrongData),
    ] {
        let mut findings = good();
        let points = &mut links(&mut findings).points;
        let point = points
            .iter_mut()
            .find(|point| {
                point.case == "host_bidir_pinned_ce"
                    && [point.from, point.to].contains(&Endpoint::Device(1))
            })
            .unwrap();
        match outcome {
            Some(outcome) => point.outcome = outcome,
            None => {
                if let Outcome::Measured { verification, .. } = &mut point.outcome {
                    *verification = Verification::WrongData {
                        seen: "byte 0 was 255".to_owned(),
                    };
                }
            }
        }
        let checks = judged("l40x4", &findings);
        // Of a healthy device nobody demands it.
        assert!(!one(&checks, "bidirectional GPU0").required);
        let check = one(&checks, "bidirectional GPU1");
        assert_eq!(
            (check.verdict, check.reason.code, check.required),
            (Verdict::Fail, code, true)
        );
        assert_eq!(verdict(&checks), BoxVerdict::Rejected);
    }
}

#[test]
fn a_box_whose_fault_checks_were_left_out_is_not_accepted_without_a_word() {
    let of = |kinds: &[&str]| {
        let kinds: Vec<String> = kinds.iter().map(|kind| (*kind).to_owned()).collect();
        verdict(&judge(&profile("l40x4"), Level::Standard, &good(), &kinds))
    };
    // What the played box has no log of is open in both, and a warning; so all kinds of faults but one are there.
    let mut whole = good();
    whole.kernel_log = Some(Ok(vec![]));
    let all = judge(&profile("l40x4"), Level::Standard, &whole, &[]);
    let before = verdict(&all);
    assert!(
        [BoxVerdict::Accepted, BoxVerdict::AcceptedWithWarnings].contains(&before),
        "{before:?}"
    );
    for kinds in [
        &["counters"][..],
        &["counters", "link_transitions", "throttle", "kernel_log"],
    ] {
        assert_eq!(of(kinds), BoxVerdict::AcceptedWithWarnings, "{kinds:?}");
    }
}

#[test]
fn a_direct_copy_is_not_held_against_one_through_host_memory() {
    let mut findings = good();
    forget(&mut findings, (1, 0));
    let checks = judged("l40x4", &findings);
    let symmetry = one(&checks, "symmetry GPU0->GPU1 GPU1->GPU0");
    assert_eq!(
        (symmetry.verdict, symmetry.reason.code),
        (Verdict::Skip, R::NotMeasured)
    );
    // Other pairs have both ways.
    let other = one(&checks, "symmetry GPU2->GPU3 GPU3->GPU2");
    assert_eq!(other.verdict, Verdict::Pass);
    // The class of four goes on with three.
    assert_eq!(one(&checks, "spread p2p NODE").verdict, Verdict::Pass);
    // Two of either kind are no class.
    forget(&mut findings, (3, 2));
    let checks = judged("l40x4", &findings);
    let class = one(&checks, "spread p2p NODE");
    assert_eq!(
        (class.verdict, class.reason.code),
        (Verdict::Skip, R::NotMeasured)
    );
}
