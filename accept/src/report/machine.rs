//! How the verdicts of all checks make the verdict on the machine.

use record::exit;
use serde::{Deserialize, Serialize};

use super::check::Check;
use super::verdict::{ReasonCode, Verdict};

/// The verdict on the box.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum BoxVerdict {
    /// Every required check was measured and none failed.
    Accepted,
    /// As `accepted`, with something to look at.
    AcceptedWithWarnings,
    /// A required check failed.
    Rejected,
    /// A required check is unknown.
    Inconclusive,
}

impl std::fmt::Display for BoxVerdict {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.serialize(f)
    }
}

impl BoxVerdict {
    /// The verdict on a box whose checks came to these.
    ///
    /// A required check that fails rejects. A required check that is inconclusive, or skipped for another reason than that there
    /// is nothing to look at, leaves the box undecided; so does a run in which no required check was measured. What else is not good
    /// is something to look at.
    #[must_use]
    pub(crate) fn of<'a>(checks: impl IntoIterator<Item = &'a Check>) -> Self {
        Self::of_rows(
            checks
                .into_iter()
                .map(|check| (check.required, check.verdict, check.reason.code)),
        )
    }

    fn of_rows(rows: impl IntoIterator<Item = (bool, Verdict, ReasonCode)>) -> Self {
        let (mut failed, mut open, mut warned, mut measured) = (false, false, false, false);
        for (required, verdict, reason) in rows {
            match verdict {
                Verdict::Fail if required => failed = true,
                Verdict::Inconclusive if required => open = true,
                Verdict::Skip => open |= required && reason != ReasonCode::NotApplicable,
                Verdict::Pass => measured |= required,
                Verdict::Warn | Verdict::Fail | Verdict::Inconclusive => {
                    measured |= required;
                    warned = true;
                }
            }
        }
        match (failed, open || !measured, warned) {
            (true, _, _) => Self::Rejected,
            (false, true, _) => Self::Inconclusive,
            (false, false, true) => Self::AcceptedWithWarnings,
            (false, false, false) => Self::Accepted,
        }
    }

    /// The exit code of a run that ended with it.
    #[must_use]
    pub(crate) fn exit_code(self) -> u8 {
        match self {
            Self::Accepted | Self::AcceptedWithWarnings => exit::DONE,
            Self::Rejected => exit::REJECTED,
            Self::Inconclusive => exit::INCONCLUSIVE,
        }
    }

    /// As a reader reads it.
    #[must_use]
    pub(crate) fn words(self) -> &'static str {
        match self {
            Self::Accepted => "ACCEPTED",
            Self::AcceptedWithWarnings => "ACCEPTED, with warnings",
            Self::Rejected => "REJECTED",
            Self::Inconclusive => "INCONCLUSIVE",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::ReasonCode as R;
    use super::Verdict::{Fail, Inconclusive, Pass, Skip, Warn};
    use super::*;

    #[test]
    fn a_box_is_accepted_only_by_what_was_measured() {
        for (checks, expected) in [
            (vec![], BoxVerdict::Inconclusive),
            (vec![(true, Pass, R::AsExpected)], BoxVerdict::Accepted),
            // Measured, but nothing that was required.
            (vec![(false, Pass, R::AsExpected)], BoxVerdict::Inconclusive),
            (
                vec![(true, Pass, R::AsExpected), (true, Warn, R::BeyondLimit)],
                BoxVerdict::AcceptedWithWarnings,
            ),
            (
                vec![(true, Pass, R::AsExpected), (true, Skip, R::NotApplicable)],
                BoxVerdict::Accepted,
            ),
            (
                vec![(true, Pass, R::AsExpected), (true, Skip, R::LeftOut)],
                BoxVerdict::Inconclusive,
            ),
            (
                vec![(true, Pass, R::AsExpected), (true, Inconclusive, R::Noisy)],
                BoxVerdict::Inconclusive,
            ),
            (
                vec![(true, Inconclusive, R::Noisy), (true, Fail, R::Hang)],
                BoxVerdict::Rejected,
            ),
            (
                vec![(true, Pass, R::AsExpected), (false, Fail, R::BeyondLimit)],
                BoxVerdict::AcceptedWithWarnings,
            ),
        ] {
            assert_eq!(BoxVerdict::of_rows(checks.clone()), expected, "{checks:?}");
        }
    }
}
