//! The verdict of a check, the closed list of reasons, and how the verdicts of all checks make the verdict on the box.
//!
//! What is measured and where its limit lies is not known here.

use record::exit;
use serde::{Deserialize, Serialize};

use super::check::Check;
use crate::checks;

/// What a check came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
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
    /// As it is written in files and tables.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Warn => "warn",
            Self::Fail => "fail",
            Self::Inconclusive => "inconclusive",
            Self::Skip => "skip",
        }
    }
}

/// Makes [`ReasonCode`]: a row is the code, its word, the verdicts that it may stand with, and its words in reports of before.
macro_rules! reasons {
    ($($(#[doc = $meaning:literal])+ $code:ident = $word:literal, $verdicts:expr, was [$($old:literal),*];)+) => {
        /// Why a check came to its verdict: a closed list; `codes.md` of the crate `view` has a page for each.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub(crate) enum ReasonCode {
            $($(#[doc = $meaning])+ #[serde(rename = $word, $(alias = $old),*)] $code,)+
        }

        impl ReasonCode {
            /// All of them.
            #[cfg(test)]
            pub(crate) const ALL: &[Self] = &[$(Self::$code,)+];

            /// Its word in files.
            pub(crate) fn code(self) -> &'static str {
                match self { $(Self::$code => $word,)+ }
            }

            /// The verdicts that it may stand with.
            pub(crate) fn verdicts(self) -> &'static [Verdict] {
                match self { $(Self::$code => $verdicts,)+ }
            }
        }
    };
}

const BAD: &[Verdict] = &[Verdict::Fail, Verdict::Warn];
const FAULT: &[Verdict] = &[Verdict::Fail];
const OPEN: &[Verdict] = &[Verdict::Inconclusive];
const LEFT: &[Verdict] = &[Verdict::Skip];
const OPEN_OR_LEFT: &[Verdict] = &[Verdict::Inconclusive, Verdict::Skip];

reasons! {
    /// Measured or seen, and as it should be.
    AsExpected = "as-expected", &[Verdict::Pass], was ["within_limit", "as_expected"];
    /// A figure beyond its limit, interval included.
    BeyondLimit = "beyond-limit", BAD, was ["below_floor", "above_limit", "numa_penalty", "near_slowdown", "drift"];
    /// Worse than this machine's baseline.
    BelowBaseline = "below-baseline", BAD, was ["below_baseline"];
    /// The link at the slot is slower or narrower under load than the profile expects, or changes.
    LinkDegraded = "link-degraded", BAD, was ["link_degraded", "link_transitions"];
    /// One way, pair or device is slower, or has less, than its like.
    Outlier = "outlier", BAD, was ["outlier", "asymmetric"];
    /// Data arrived other than it was sent.
    WrongData = "wrong-data", FAULT, was ["data_mismatch"];
    /// A device stopped answering.
    DeviceLost = "device-lost", FAULT, was ["device_lost", "rebooted"];
    /// Fewer or other devices than the profile expects.
    DeviceMissing = "device-missing", FAULT, was ["device_missing"];
    /// A copy or collective that does not end.
    Hang = "hang", FAULT, was ["hang"];
    /// A device or memory is on another NUMA node than expected.
    WrongNode = "wrong-node", &[Verdict::Fail, Verdict::Warn, Verdict::Inconclusive], was ["numa_misbound", "numa_inversion"];
    /// Peer access is other than the profile expects.
    PeerUnexpected = "peer-unexpected", BAD, was ["peer_unexpected"];
    /// Errors of a link or of memory were counted, logged or repaired.
    ErrorsCounted = "errors-counted", BAD, was ["counter_rate", "kernel_events", "memory_repaired", "repair_failed"];
    /// Heat or the power supply held the clocks down.
    Throttled = "throttled", BAD, was ["throttled"];
    /// Requests failed, or the server ended.
    RequestsFailed = "requests-failed", BAD, was ["server_exited", "requests_failed"];
    /// The interval lies across the limit after all samples that were allowed, or there are too few for one.
    Noisy = "noisy", OPEN, was ["noisy", "too_few_samples"];
    /// It could not be read, is not stated, or contradicts what was measured.
    Unreadable = "unreadable", OPEN, was ["unreadable", "counter_reset", "reset_pending", "cannot_load_link", "permission", "monitor_lost", "not_stated"];
    /// Others use the device.
    DeviceBusy = "device-busy", OPEN, was ["busy_device"];
    /// Other work had this machine's CPUs.
    HostBusy = "host-busy", OPEN, was ["busy_host"];
    /// The baseline is of another driver, firmware or machine.
    BaselineDiffers = "baseline-differs", OPEN, was ["version_mismatch"];
    /// A program ended without this result, or what it depends on failed.
    WorkerFailed = "worker-failed", OPEN_OR_LEFT, was ["worker_failed", "out_of_memory", "dependency_failed"];
    /// The run ended before, or its time was used up.
    Interrupted = "interrupted", OPEN_OR_LEFT, was ["interrupted", "budget"];
    /// There is no such thing on this machine.
    NotApplicable = "not-applicable", LEFT, was ["not_applicable"];
    /// The device, its driver, a library or this guest does not have it.
    Unsupported = "unsupported", LEFT, was ["unsupported_by_device", "virtualized", "missing_library"];
    /// Left out on the command line.
    LeftOut = "left-out", LEFT, was ["excluded_by_user"];
    /// Not part of this level, or not asked for.
    NotAsked = "not-asked", LEFT, was ["not_asked"];
}

impl ReasonCode {
    /// Whether a check that fails for it rejects a machine though nobody demanded the check: what hangs, is gone or delivers wrong data is no
    /// question of speed.
    pub(crate) fn is_fault(self) -> bool {
        matches!(self, Self::Hang | Self::DeviceLost | Self::WrongData)
    }
}

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

impl BoxVerdict {
    /// The verdict on a box whose checks came to these.
    ///
    /// A required check that fails rejects. A required check that is inconclusive, or skipped for another reason than that there
    /// is nothing to look at, leaves the box undecided; so does a run in which no required check was measured. A check for faults
    /// that the user left out is something to look at, and so is one that was asked for and for which there was no time.
    #[must_use]
    pub(crate) fn of<'a>(checks: impl IntoIterator<Item = &'a Check>) -> Self {
        Self::of_rows(checks.into_iter().map(|check| {
            let sees_faults = checks::sees_faults(&check.kind);
            let row = (check.required, check.verdict, check.reason.code);
            (row, sees_faults)
        }))
    }

    /// The same of rows, each with whether its kind of check sees faults.
    fn of_rows(rows: impl IntoIterator<Item = ((bool, Verdict, ReasonCode), bool)>) -> Self {
        let (mut failed, mut open, mut warned, mut measured) = (false, false, false, false);
        for ((required, verdict, reason), sees_faults) in rows {
            match verdict {
                Verdict::Fail if required => failed = true,
                Verdict::Inconclusive if required => open = true,
                Verdict::Skip if required && reason != ReasonCode::NotApplicable => open = true,
                Verdict::Pass => measured |= required,
                Verdict::Warn => {
                    measured |= required;
                    warned = true;
                }
                // What is not required and is not good is reported, and decides nothing.
                Verdict::Fail | Verdict::Inconclusive => warned = true,
                Verdict::Skip => {
                    warned |= reason == ReasonCode::Interrupted
                        || (sees_faults && reason == ReasonCode::LeftOut);
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

    /// As it is written in files.
    pub(crate) fn key(self) -> &'static str {
        match self {
            Self::Accepted => "accepted",
            Self::AcceptedWithWarnings => "accepted_with_warnings",
            Self::Rejected => "rejected",
            Self::Inconclusive => "inconclusive",
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
                vec![(true, Pass, R::AsExpected), (false, Fail, R::Outlier)],
                BoxVerdict::AcceptedWithWarnings,
            ),
        ] {
            let rows = checks.iter().map(|row| (*row, false));
            assert_eq!(BoxVerdict::of_rows(rows), expected, "{checks:?}");
        }
    }

    #[test]
    fn what_was_left_out_by_hand_or_for_want_of_time_is_something_to_look_at() {
        let good = ((true, Pass, R::AsExpected), false);
        for (left_out, sees_faults, expected) in [
            (R::LeftOut, true, BoxVerdict::AcceptedWithWarnings),
            (R::LeftOut, false, BoxVerdict::Accepted),
            (R::Unsupported, true, BoxVerdict::Accepted),
            // Asked for, as the level has it, and no time was left.
            (R::Interrupted, false, BoxVerdict::AcceptedWithWarnings),
            (R::NotAsked, false, BoxVerdict::Accepted),
        ] {
            let rows = [good, ((false, Skip, left_out), sees_faults)];
            assert_eq!(BoxVerdict::of_rows(rows), expected, "{left_out:?}");
        }
    }

    #[test]
    fn only_one_code_stands_with_a_pass_and_each_has_a_page() {
        let passing = ReasonCode::ALL
            .iter()
            .filter(|code| code.verdicts().contains(&Pass));
        assert_eq!(passing.collect::<Vec<_>>(), [&R::AsExpected]);
        for code in ReasonCode::ALL {
            assert!(view::codes::page(code.code()).is_some(), "{}", code.code());
        }
    }
}
