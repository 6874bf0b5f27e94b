//! The verdict of a check, the closed list of reasons, and how the verdicts of all checks make the verdict on the box.
//!
//! What is measured and where its limit lies is not known here.

use serde::{Deserialize, Serialize};
use strum::Display;

/// What a check came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, Display)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub(crate) enum Verdict {
    /// Measured, and within its limit.
    Pass,
    /// Measured, above what rejects a box and below what is expected of a good one.
    Warn,
    /// Measured, and beyond its limit.
    Fail,
    /// Could not be told: looked at and not seen, or too noisy.
    Inconclusive,
    /// Was not looked at.
    Skip,
}

impl Verdict {
    /// How bad it is, for the worst of several.
    pub(crate) fn severity(self) -> u8 {
        match self {
            Self::Fail => 3,
            Self::Inconclusive => 2,
            Self::Warn => 1,
            Self::Pass | Self::Skip => 0,
        }
    }
}

/// Why a check came to its verdict: a closed list; `codes.md` of the crate `view` has a page for each.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    strum::IntoStaticStr,
)]
#[cfg_attr(test, derive(strum::VariantArray))]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub(crate) enum ReasonCode {
    /// Measured or seen, and as it should be.
    AsExpected,
    /// A figure beyond its limit, interval included; the limit says whether it is the profile's, the baseline's or that of its like.
    BeyondLimit,
    /// The link at the slot is slower or narrower under load than the profile expects, or changes.
    LinkDegraded,
    /// Devices, NUMA nodes or peer access are other than the profile expects.
    ConfigMismatch,
    /// Data arrived other than it was sent.
    WrongData,
    /// A device stopped answering.
    DeviceLost,
    /// A copy or collective that does not end.
    Hang,
    /// Errors of a link, of memory or of requests were counted, logged or repaired.
    ErrorsCounted,
    /// Heat or the power supply held the clocks down.
    Throttled,
    /// The interval lies across the limit after all samples that were allowed, there are too few for one, or other work had the CPUs.
    Noisy,
    /// Others use the device.
    DeviceBusy,
    /// It cannot be read here, is not stated, or contradicts what was measured.
    Unreadable,
    /// A program ended without this result, what it depends on failed, or the run ended before.
    NotMeasured,
    /// There is no such thing on this machine.
    NotApplicable,
    /// Left out on the command line, or not part of this level.
    LeftOut,
}

impl ReasonCode {
    /// Its word in files.
    pub(crate) fn code(self) -> &'static str {
        self.into()
    }

    /// Whether a check that fails for it rejects a machine though nobody demanded the check: what hangs, is gone or delivers wrong data is no
    /// question of speed.
    pub(crate) fn is_fault(self) -> bool {
        matches!(self, Self::Hang | Self::DeviceLost | Self::WrongData)
    }
}

#[cfg(test)]
mod tests {
    use strum::VariantArray as _;

    use super::ReasonCode as R;

    #[test]
    fn there_are_fifteen_codes_and_each_has_a_page() {
        assert_eq!(R::VARIANTS.len(), 15);
        for code in R::VARIANTS {
            assert!(view::codes::page(code.code()).is_some(), "{}", code.code());
        }
    }
}
