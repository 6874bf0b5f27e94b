//! Tests of the judges, and the box that is played for them, which tests of other parts may use.

mod captured;
mod dice;
mod drift;
mod faults;
mod held;
mod known_answers;
mod missing;
mod plant;
mod played;
mod rates;
mod reduced;
mod single;
mod unwatched;
mod watched;

pub(crate) use plant::Plant;
pub(crate) use played::Played;

use crate::baseline::{BASELINE_SCHEMA, Baseline, Figure};
use crate::cli::Level;
use crate::findings::Findings;
use crate::profile::{self, Profile};
use crate::report::{BoxVerdict, Check, Evidence, ReasonCode, Verdict};

/// A shipped profile.
pub(crate) fn profile(name: &str) -> Profile {
    profile::load(name).unwrap().profile
}

/// Judges a played box as a runner does: with the profile's number of samples, and more of all while something is not decided.
pub(crate) fn run(
    profile: &Profile,
    played: &mut Played,
    baseline: Option<&Baseline>,
) -> Vec<Check> {
    let n = profile.sampling.repeats;
    let mut findings = Findings {
        baseline: baseline.cloned(),
        ..played.findings(n)
    };
    let mut taken = n;
    loop {
        let checks = super::judge(profile, Level::Standard, &findings, &[]);
        if super::undecided(&checks).is_empty() || taken >= profile.sampling.max_repeats {
            return checks;
        }
        played.add(&mut findings, n);
        taken += n;
    }
}

/// The verdict on a box with these checks.
pub(crate) fn verdict(checks: &[Check]) -> BoxVerdict {
    BoxVerdict::of(checks)
}

/// The figures of a run as a baseline keeps them.
pub(crate) fn baseline(played: &Played, checks: &[Check]) -> Baseline {
    let figures = checks.iter().flat_map(|check| {
        check.evidence.iter().filter_map(|evidence| match evidence {
            Evidence::Measured {
                what,
                unit,
                samples,
                ..
            } if !samples.is_empty() => Some(Figure {
                check: check.id.clone(),
                what: what.clone(),
                unit: unit.clone(),
                samples: samples.clone(),
            }),
            _ => None,
        })
    });
    Baseline {
        schema: BASELINE_SCHEMA,
        soft_box: Some(played.described.name.clone()),
        started: "2026-11-01T10:00:00Z".to_owned(),
        profile: ("test".to_owned(), String::new()),
        fingerprint: played.fingerprint(),
        figures: figures.collect(),
    }
}

/// Whether a check of this kind, whose subjects hold this word, did not pass for this reason.
pub(crate) fn told(checks: &[Check], kind: &str, about: &str, code: ReasonCode) -> bool {
    checks.iter().any(|check| {
        check.kind == kind
            && (check.about.iter().any(|one| one.contains(about))
                || check.reason.detail.contains(about))
            && check.reason.code == code
            && matches!(check.verdict, Verdict::Fail | Verdict::Inconclusive)
    })
}
