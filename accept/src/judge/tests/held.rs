//! The words of a figure that is compared with a baseline: where it is good, and where it is not.

use record::quantity::Unit;
use record::{Endpoint, Outcome, Payload};

use super::rates::quantity;
use super::{Played, profile};
use crate::baseline::{BASELINE_SCHEMA, Baseline, Figure};
use crate::cli::Level;
use crate::judge::judge;
use crate::report::{Check, Evidence, ReasonCode as R, Verdict};

/// The check on copies to GPU0 of a box whose copies all take this rate, beside a baseline of 26 GB/s.
fn beside_a_baseline_of_26(rate: f64) -> Check {
    let played = &mut Played::new("l40x4", 1, &[]).idle();
    let mut findings = played.findings(15);
    let Payload::Links(links) = &mut findings.links[0].it.payload else {
        panic!("{:?}", findings.links[0]);
    };
    for point in &mut links.points {
        let is_it = point.case == "h2d_pinned_ce" && point.to == Endpoint::Device(0);
        if let (true, Outcome::Measured { quantities, .. }) = (is_it, &mut point.outcome) {
            let name = quantities[0].name.clone();
            quantities[0] = quantity(&name, vec![rate; 15], Unit::GbPerS);
        }
    }
    let what = |checks: &[Check]| {
        let check = checks.iter().find(|check| check.id == "h2d_pinned GPU0");
        check.unwrap().clone()
    };
    let judged = |findings: &_| judge(&profile("l40x4"), Level::Standard, findings, &[]);
    let Evidence::Measured { what: figure, .. } = what(&judged(&findings)).evidence[0].clone()
    else {
        panic!("no figure");
    };
    let fingerprint = played.fingerprint();
    findings.fingerprint = Some(fingerprint.clone());
    findings.baseline = Some(Baseline {
        schema: BASELINE_SCHEMA,
        soft_box: Some(played.described.name.clone()),
        started: "2026-11-01T10:00:00Z".to_owned(),
        profile: ("test".to_owned(), String::new()),
        fingerprint,
        figures: vec![Figure {
            check: "h2d_pinned GPU0".to_owned(),
            what: figure,
            unit: "GB/s".to_owned(),
            samples: vec![26.0; 15],
        }],
    });
    what(&judged(&findings))
}

#[test]
fn a_pass_beside_a_baseline_names_its_figure_and_what_it_may_be_worse_by() {
    let check = beside_a_baseline_of_26(25.5);
    assert_eq!(
        (check.verdict, check.reason.code),
        (Verdict::Pass, R::AsExpected)
    );
}

#[test]
fn a_figure_that_only_the_baseline_rejects_says_so() {
    // Above the profile's own 23.05.
    let check = beside_a_baseline_of_26(24.0);
    assert_eq!(
        (check.verdict, check.reason.code),
        (Verdict::Fail, R::BeyondLimit)
    );
    let limit = check.limit.unwrap();
    assert!((limit.fail.unwrap() - 24.7).abs() < 1e-9, "{limit:?}");
    assert!((limit.warn.unwrap() - 25.35).abs() < 0.01, "{limit:?}");
}
