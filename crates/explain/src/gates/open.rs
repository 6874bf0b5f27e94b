//! A gate before its verdict.

use super::gate::{Gate, Verdict};

/// How far two things that should be equal may lie apart, and how much of a run may be prefill.
pub(super) const TOLERANCE: f64 = 0.05;

/// A gate before its verdict.
pub(super) struct Open {
    name: &'static str,
    needed: String,
    what_to_run: String,
}

impl Open {
    pub(super) fn new(
        name: &'static str,
        needed: impl Into<String>,
        what_to_run: impl Into<String>,
    ) -> Self {
        Self {
            name,
            needed: needed.into(),
            what_to_run: what_to_run.into(),
        }
    }

    /// Passed or failed, or unknown where the files do not say.
    pub(super) fn is(self, holds: Option<bool>, seen: impl Into<String>) -> Gate {
        let verdict = match holds {
            Some(true) => Verdict::Passed,
            Some(false) => Verdict::Failed,
            None => Verdict::Unknown,
        };
        self.with(verdict, seen)
    }

    /// There was nothing to hold it against, which costs the attribution nothing.
    pub(super) fn not_judged(self, why: impl Into<String>) -> Gate {
        self.with(Verdict::NotJudged, why)
    }

    /// Another next step than the usual one.
    pub(super) fn with_next(mut self, what_to_run: impl Into<String>) -> Self {
        self.what_to_run = what_to_run.into();
        self
    }

    /// With that verdict.
    pub(super) fn with(self, verdict: Verdict, seen: impl Into<String>) -> Gate {
        let is_open = matches!(
            verdict,
            Verdict::Failed | Verdict::Unknown | Verdict::Warned
        );
        Gate {
            name: self.name.to_owned(),
            verdict,
            seen: seen.into(),
            needed: self.needed,
            what_to_run: is_open.then_some(self.what_to_run),
        }
    }
}
