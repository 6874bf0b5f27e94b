//! The words of a figure that is held against a baseline: where it is good, and where it is not.

use measure::quantity::Unit;
use measure::record::{Endpoint, Outcome, Payload};

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
    let judged = |findings: &_| judge(&profile("l40x4"), Level::Standard, findings, &[]).unwrap();
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

/// 26 GB/s less 5% are 24.70; the profile's own lines are 0.80 and 0.88 of 28.81 GB/s, 23.05 and 25.35.
const LIMIT: &str = "(fails below 24.70 GB/s, the baseline's 26.00 [26.00, 26.00] GB/s, n=15 and 5% worse; warns below 25.35 GB/s; fails \
    below 23.05 GB/s, warns below 25.35 GB/s: 0.80 and 0.88 of 28.81 GB/s, the most that is carried by Gen4 x16, payload 256 B)";

#[test]
fn a_pass_beside_a_baseline_names_its_figure_and_what_it_may_be_worse_by() {
    let check = beside_a_baseline_of_26(25.5);
    assert_eq!(
        (check.verdict, check.reason.code),
        (Verdict::Pass, R::WithinLimit)
    );
    assert_eq!(
        check.reason.text,
        format!("25.50 [25.50, 25.50] GB/s, n=15: within the limit {LIMIT}")
    );
}

#[test]
fn a_figure_that_only_the_baseline_rejects_says_so() {
    // Above the profile's own 23.05.
    let check = beside_a_baseline_of_26(24.0);
    assert_eq!(
        (check.verdict, check.reason.code),
        (Verdict::Fail, R::BelowBaseline)
    );
    assert_eq!(
        check.reason.text,
        format!("24.00 [24.00, 24.00] GB/s, n=15: beyond the line that fails {LIMIT}")
    );
    let limit = check.limit.unwrap();
    assert!((limit.fail.unwrap() - 24.7).abs() < 1e-9, "{limit:?}");
    assert!((limit.warn.unwrap() - 25.35).abs() < 0.01, "{limit:?}");
}

#[test]
fn a_figure_beyond_a_line_that_is_a_part_of_a_link_says_where_the_line_lies() {
    let plant = super::Plant::Slot {
        device: 1,
        link: topology::PcieLink::new(4, 8).unwrap(),
    };
    let mut played = Played::new("l40x4", 1, &[plant]).idle();
    let checks = super::run(&profile("l40x4"), &mut played, None);
    let told = checks.iter().find(|check| check.id == "h2d_pinned GPU0");
    // Gen4 x16 carries 16 * 16 * 128 / 130 / 8 = 31.508 GB/s, at 256 B of payload in 280 B 28.807; 0.80 and 0.88 of that are 23.05 and 25.35.
    let line = "fails below 23.05 GB/s, warns below 25.35 GB/s: 0.80 and 0.88 of 28.81 GB/s, the most that is carried by Gen4 x16";
    let text = &told.unwrap().reason.text;
    assert!(text.contains(line), "{text}");
}
