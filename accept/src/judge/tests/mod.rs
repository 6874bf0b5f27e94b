//! Tests of the judges, and the box that is played for them, which tests of other parts may use.

mod captured;
mod dice;
mod drift;
mod faults;
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

use crate::baseline::Baseline;
use crate::cli::Level;
use crate::findings::Findings;
use crate::profile::{self, Profile};
use crate::report::{BoxVerdict, Check, ReasonCode, Verdict};
use crate::tests::made::report;

/// A shipped profile.
pub(crate) fn profile(name: &str) -> Profile {
    profile::load(name).unwrap().profile
}

/// Judges a played box as a runner does: with the profile's number of samples, and more of all while something is not decided.
pub(crate) fn run(
    profile: &Profile,
    played: &mut Played,
    baseline: Option<&[Check]>,
) -> Vec<Check> {
    let n = profile.sampling.repeats;
    let mut findings: Findings = played.findings(n);
    let of = |checks: &[Check]| report("n1", checks.to_vec());
    let mut taken = n;
    loop {
        let checks = super::judge(profile, Level::Standard, &findings, &[]);
        if super::undecided(&checks).is_empty() || taken >= profile.sampling.max_repeats {
            let Some(known) = baseline else {
                return checks;
            };
            let (report, sha256) = (of(known), String::new());
            findings.baseline = Baseline { report, sha256 }.checks(&of(&checks));
            return super::judge(profile, Level::Standard, &findings, &[]);
        }
        played.add(&mut findings, n);
        taken += n;
    }
}

/// Twenty samples of a good box of four L40, which decide all of it.
pub(crate) fn good() -> Findings {
    played(&[])
}

/// The same with faults.
pub(crate) fn played(plants: &[Plant]) -> Findings {
    Played::new("l40x4", 1, plants).idle().findings(20)
}

/// The checks of findings by a shipped profile.
pub(crate) fn judged(name: &str, findings: &Findings) -> Vec<Check> {
    super::judge(&profile(name), Level::Standard, findings, &[])
}

/// The check of this id.
#[track_caller]
pub(crate) fn one<'a>(checks: &'a [Check], id: &str) -> &'a Check {
    let check = checks.iter().find(|check| check.id == id);
    check.unwrap_or_else(|| panic!("no check {id}"))
}

/// The verdict and the reason of the check of this id.
#[track_caller]
pub(crate) fn came(checks: &[Check], id: &str) -> (Verdict, ReasonCode) {
    let check = one(checks, id);
    (check.verdict, check.reason.code)
}

/// The links of the first record.
pub(crate) fn links(findings: &mut Findings) -> &mut record::Links {
    match &mut findings.links[0].it.payload {
        record::Payload::Links(links) => links,
        other => panic!("{other:?}"),
    }
}

/// The verdict on a box with these checks.
pub(crate) fn verdict(checks: &[Check]) -> BoxVerdict {
    BoxVerdict::of(checks)
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
