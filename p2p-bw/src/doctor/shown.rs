//! [`Shown`]: what is printed, as text or JSON, and the exit code that follows from it.

use doctor::{Facts, Finding, RULES, Verdict, judge};
use record::exit;
use serde::Serialize;

/// The findings and where they come from.
#[derive(Debug, Serialize)]
pub(super) struct Shown {
    /// 1.
    pub(super) schema: u32,
    /// `this machine`, `simulated machine l40x4`, or a folder.
    pub(super) source: String,
    /// Whether it is a simulated machine.
    pub(super) simulated: bool,
    /// What drivers and libraries say of themselves.
    pub(super) versions: Vec<ShownVersion>,
    /// How many findings there are of each verdict.
    pub(super) counts: Counts,
    /// The findings, the worst first.
    pub(super) findings: Vec<Finding>,
    /// Rules that found nothing to look at.
    pub(super) not_applicable: Vec<&'static str>,
}

/// A version and who says so.
#[derive(Debug, Serialize)]
pub(super) struct ShownVersion {
    pub(super) component: String,
    pub(super) version: String,
    pub(super) source: String,
}

/// How many findings there are of each verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(super) struct Counts {
    pub(super) bad: usize,
    pub(super) warn: usize,
    pub(super) cannot_tell: usize,
    pub(super) ok: usize,
}

impl Shown {
    /// Judges the facts by some rules, or by all where none is named.
    pub(super) fn of(
        (source, simulated): (String, bool),
        facts: &Facts,
        only: &[&'static str],
    ) -> Self {
        let findings = judge(facts, only);
        let asked = RULES
            .iter()
            .map(|rule| rule.id)
            .filter(|id| only.is_empty() || only.contains(id));
        let not_applicable = asked
            .filter(|id| !findings.iter().any(|finding| finding.rule == *id))
            .collect();
        let count = |verdict: Verdict| {
            let same = findings.iter().filter(|finding| finding.verdict == verdict);
            same.count()
        };
        let counts = Counts {
            bad: count(Verdict::Bad),
            warn: count(Verdict::Warn),
            cannot_tell: count(Verdict::Unknown),
            ok: count(Verdict::Ok),
        };
        let versions = facts.given.versions.iter();
        Self {
            schema: 1,
            source,
            simulated,
            versions: versions
                .map(|version| ShownVersion {
                    component: version.component.clone(),
                    version: version.text.clone(),
                    source: version.source.clone(),
                })
                .collect(),
            counts,
            findings,
            not_applicable,
        }
    }

    /// 1 where something is bad, 3 where nothing could be told, else 0.
    pub(super) fn exit_code(&self) -> u8 {
        let Counts { bad, warn, ok, .. } = self.counts;
        match (bad, warn + ok) {
            (0, 0) => exit::INCONCLUSIVE,
            (0, _) => exit::DONE,
            _ => exit::REJECTED,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(counts: [usize; 4]) -> Shown {
        let [bad, warn, cannot_tell, ok] = counts;
        Shown {
            schema: 1,
            source: String::new(),
            simulated: false,
            versions: Vec::new(),
            counts: Counts {
                bad,
                warn,
                cannot_tell,
                ok,
            },
            findings: Vec::new(),
            not_applicable: Vec::new(),
        }
    }

    #[test]
    fn only_what_is_bad_rejects_and_nothing_told_is_inconclusive() {
        for (counts, code) in [
            ([1, 0, 5, 9], exit::REJECTED),
            ([0, 3, 0, 0], exit::DONE),
            ([0, 0, 30, 1], exit::DONE),
            ([0, 0, 30, 0], exit::INCONCLUSIVE),
            ([0, 0, 0, 0], exit::INCONCLUSIVE),
        ] {
            assert_eq!(shown(counts).exit_code(), code, "{counts:?}");
        }
    }
}
