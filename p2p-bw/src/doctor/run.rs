//! `doctor` from its command line to its exit code: 1 where something is bad, 3 where nothing could be told or the backend that
//! was asked for does not answer, else 0.

use doctor::{Facts, RULES, Verdict, judge};
use program::show::Show;
use program::{Stop, outputs, say, sim};
use record::exit;
use runner::Interrupt;

use super::document::{self, Counts, Shown};
use super::gather::{self, DoctorArgs, Gathered};

/// Prints to standard output; gives the exit code.
///
/// # Errors
/// A wrong command line, a tree that cannot be read, or a signal.
pub(crate) fn run(args: &DoctorArgs, interrupt: &Interrupt, show: Show) -> Result<u8, Stop> {
    let only = known_ids(&args.only)?;
    if args.list {
        return Ok(show.print(&document::rules(&only)));
    }
    let gathered = gather::gather(args, interrupt);
    sim::forget();
    let Gathered {
        source,
        facts,
        said,
        missing,
    } = gathered?;
    said.iter().chain(&missing).for_each(|line| say!("{line}"));
    let shown = judged((source, args.sim.is_some()), &facts, &only);
    let printed = match args.json {
        true => outputs::json(&shown)?,
        false => show.print(&document::document(&shown, args.all, args.sim.as_deref())),
    };
    let of_missing = missing.map(|_| exit::INCONCLUSIVE);
    let codes = [printed, exit_code(shown.counts)].into_iter();
    Ok(exit::fold(codes.chain(of_missing)))
}

/// Judges the facts by some rules, or by all where none is named.
fn judged((source, simulated): (String, bool), facts: &Facts, only: &[&'static str]) -> Shown {
    let findings = judge(facts, only);
    let asked = RULES.iter().map(|rule| rule.id);
    let asked = asked.filter(|id| only.is_empty() || only.contains(id));
    let is_silent = |id: &&str| !findings.iter().any(|finding| finding.rule == *id);
    let count = |verdict: Verdict| {
        let same = findings.iter().filter(|finding| finding.verdict == verdict);
        same.count()
    };
    Shown {
        schema: 1,
        source,
        simulated,
        versions: facts.given.versions.clone(),
        counts: Counts {
            bad: count(Verdict::Bad),
            warn: count(Verdict::Warn),
            cannot_tell: count(Verdict::Unknown),
            ok: count(Verdict::Ok),
        },
        not_applicable: asked.filter(is_silent).collect(),
        findings,
    }
}

/// 1 where something is bad, 3 where nothing could be told, else 0.
fn exit_code(counts: Counts) -> u8 {
    match (counts.bad, counts.warn + counts.ok) {
        (0, 0) => exit::INCONCLUSIVE,
        (0, _) => exit::DONE,
        _ => exit::REJECTED,
    }
}

/// The ids that were asked for, each of them one of the table.
fn known_ids(asked: &[String]) -> Result<Vec<&'static str>, Stop> {
    let find = |id: &String| {
        let known = RULES.iter().find(|rule| rule.id == id.trim());
        known.map(|rule| rule.id).ok_or_else(|| {
            Stop::Usage(format!(
                "--only {id}: there is no such rule; see doctor --list"
            ))
        })
    };
    asked.iter().map(find).collect()
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
            let counts = Counts {
                bad,
                warn,
                cannot_tell,
                ok,
            };
            assert_eq!(exit_code(counts), code, "{counts:?}");
        }
    }
}
