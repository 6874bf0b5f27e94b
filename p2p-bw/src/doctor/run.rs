//! `doctor` from its command line to its exit code: 1 where something is bad, 3 where nothing could be told or the backend that
//! was asked for does not answer, else 0.

use std::collections::BTreeMap;

use doctor::{Facts, RULES, Verdict, judge};
use program::show::Show;
use program::{Stop, outputs, sim};
use record::exit;
use runner::Interrupt;

use super::document::{self, Shown};
use super::gather::{self, DoctorArgs};

/// Prints to standard output; gives the exit code.
///
/// # Errors
/// A wrong command line, a tree that cannot be read, or a signal.
pub(crate) fn run(args: &DoctorArgs, interrupt: &Interrupt, show: Show) -> Result<u8, Stop> {
    let gathered = gather::gather(args, interrupt);
    sim::forget();
    let (source, facts, is_missing) = gathered?;
    let shown = judged((source, args.on.sim.is_some()), &facts);
    let printed = match args.json {
        true => outputs::json(&shown)?,
        false => show.print(&document::document(&shown, args.on.sim.as_deref())),
    };
    let of_missing = is_missing.then_some(exit::INCONCLUSIVE);
    let codes = [printed, exit_code(&shown.counts)].into_iter();
    Ok(exit::fold(codes.chain(of_missing)))
}

/// Judges the facts by all rules.
fn judged((source, simulated): (String, bool), facts: &Facts) -> Shown {
    let findings = judge(facts);
    let rules = RULES.iter().map(|rule| rule.id);
    let is_silent = |id: &&str| !findings.iter().any(|finding| finding.rule == *id);
    let count = |verdict: Verdict| {
        let same = findings.iter().filter(|finding| finding.verdict == verdict);
        (verdict, same.count())
    };
    let verdicts = [Verdict::Bad, Verdict::Warn, Verdict::Unknown, Verdict::Ok];
    Shown {
        schema: 1,
        source,
        simulated,
        gpus: facts.gpus.len(),
        versions: facts.given.versions.clone(),
        counts: verdicts.map(count).into(),
        not_applicable: rules.filter(is_silent).collect(),
        findings,
    }
}

/// 1 where something is bad, 3 where nothing could be told, else 0.
fn exit_code(counts: &BTreeMap<Verdict, usize>) -> u8 {
    let told = counts[&Verdict::Warn] + counts[&Verdict::Ok];
    match (counts[&Verdict::Bad], told) {
        (0, 0) => exit::INCONCLUSIVE,
        (0, _) => exit::DONE,
        _ => exit::REJECTED,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_bad_rejects_and_nothing_told_is_inconclusive() {
        for ([bad, warn, cannot_tell, ok], code) in [
            ([1, 0, 5, 9], exit::REJECTED),
            ([0, 3, 0, 0], exit::DONE),
            ([0, 0, 30, 1], exit::DONE),
            ([0, 0, 30, 0], exit::INCONCLUSIVE),
            ([0, 0, 0, 0], exit::INCONCLUSIVE),
        ] {
            let counts = [
                (Verdict::Bad, bad),
                (Verdict::Warn, warn),
                (Verdict::Unknown, cannot_tell),
                (Verdict::Ok, ok),
            ];
            assert_eq!(exit_code(&counts.into()), code, "{counts:?}");
        }
    }
}
