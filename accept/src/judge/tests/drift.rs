//! Drift over a soak whose copies vary too much for one round against another.

use record::quantity::Unit;
use record::{Endpoint, Outcome, Payload};

use super::{Played, profile};
use crate::cli::Level;
use crate::judge::judge;
use crate::report::{Check, ReasonCode as R, Verdict};

/// Copies that vary by 5%, GB/s.
const WIDE: [f64; 6] = [24.6, 25.6, 25.7, 25.8, 25.9, 26.0];

/// The checks of a soak of so many rounds whose copies to device 1 vary as much in each.
fn wide_soak(rounds: usize) -> Vec<Check> {
    soak_with(rounds, WIDE)
}

/// The same with these copies in the last round.
fn soak_with(rounds: usize, last: [f64; 6]) -> Vec<Check> {
    let mut played = Played::new("l40x4", 1, &[]).idle();
    let mut findings = played.findings(20);
    let before = findings.links.len();
    for _ in 0..rounds {
        played.add(&mut findings, 20);
    }
    let end = findings.links.len() - 1;
    for (number, found) in findings.links.iter_mut().enumerate().skip(before) {
        found.source = format!("groups/soak-links-{}", found.source);
        let Payload::Links(links) = &mut found.it.payload else {
            panic!("{}", found.source);
        };
        for point in &mut links.points {
            let is_it = point.case == "h2d_pinned_ce" && point.to == Endpoint::Device(1);
            if let (true, Outcome::Measured { quantities, .. }) = (is_it, &mut point.outcome) {
                let name = quantities[0].name.clone();
                let samples = if number == end { last } else { WIDE }.to_vec();
                quantities[0] = super::rates::quantity(&name, samples, Unit::GbPerS);
            }
        }
    }
    judge(&profile("l40x4"), Level::Soak, &findings, &[])
}

#[test]
fn a_soak_that_is_too_short_to_tell_drift_says_so_and_how_long_would_tell() {
    let id = "drift h2d_pinned_ce host->GPU1";
    // Of six samples the interval is from the least to the largest: 24.6 / 26.0 = 0.946 to 26.0 / 24.6 = 1.057, across the 0.95 that warn.
    let two = wide_soak(2);
    let check = two.iter().find(|check| check.id == id).unwrap();
    assert_eq!(
        (check.verdict, check.reason.code),
        (Verdict::Warn, R::BeyondLimit)
    );
    // The played rounds are a minute apart, and six of them tell.
    // Eighteen samples have their interval from the 5th to the 14th, 25.6 to 25.9: 25.6 / 25.9 = 0.988 to 25.9 / 25.6 = 1.012.
    let six = wide_soak(6);
    let check = six.iter().find(|check| check.id == id).unwrap();
    assert_eq!(check.verdict, Verdict::Pass, "{check:#?}");
}

#[test]
fn rounds_before_do_not_outvote_a_last_one_that_is_slow() {
    let id = "drift h2d_pinned_ce host->GPU1";
    // Four of six copies at 60%: the last median is 15.5, 0.60 of 25.75, and the interval still reaches 25.9 / 24.6 = 1.05.
    let checks = soak_with(6, [15.4, 15.5, 15.5, 15.5, 25.8, 25.9]);
    let check = checks.iter().find(|check| check.id == id).unwrap();
    assert_eq!(check.verdict, Verdict::Inconclusive, "{check:#?}");
}
