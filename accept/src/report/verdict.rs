//! The verdict of a check, the closed list of reasons, and how the verdicts of all checks make the verdict on the box.
//!
//! What is measured and where its limit lies is not known here.

use measure::exit;
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

/// Makes [`ReasonCode`]: a row is the code, its word in files, the verdicts that it may stand with, and what it means.
macro_rules! reasons {
    ($($(#[doc = $meaning:literal])+ $code:ident = $word:literal, $verdicts:expr;)+) => {
        /// Why a check came to its verdict: a closed list.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub(crate) enum ReasonCode {
            $($(#[doc = $meaning])+ #[serde(rename = $word)] $code,)+
        }

        impl ReasonCode {
            /// All of them.
            pub(crate) const ALL: &[Self] = &[$(Self::$code,)+];

            /// Its word in files.
            pub(crate) fn word(self) -> &'static str {
                match self { $(Self::$code => $word,)+ }
            }

            /// What it means, one sentence.
            pub(crate) fn meaning(self) -> &'static str {
                match self { $(Self::$code => concat!($($meaning,)+),)+ }
            }

            /// The verdicts that it may stand with.
            pub(crate) fn verdicts(self) -> &'static [Verdict] {
                match self { $(Self::$code => $verdicts,)+ }
            }
        }
    };
}

const GOOD: &[Verdict] = &[Verdict::Pass];
const BAD: &[Verdict] = &[Verdict::Fail, Verdict::Warn];
const OPEN: &[Verdict] = &[Verdict::Inconclusive];
const LEFT: &[Verdict] = &[Verdict::Skip];

reasons! {
    /// Measured within its limit, interval included.
    WithinLimit = "within_limit", GOOD;
    /// Seen as the profile expects it.
    AsExpected = "as_expected", GOOD;
    /// Slower than the limit, interval included.
    BelowFloor = "below_floor", BAD;
    /// Takes longer, or is more, than the limit, interval included.
    AboveLimit = "above_limit", BAD;
    /// Worse than this machine's baseline.
    BelowBaseline = "below_baseline", BAD;
    /// The link at the slot is slower or narrower under load than the profile expects.
    LinkDegraded = "link_degraded", BAD;
    /// The link changed its speed or width while it was loaded.
    LinkTransitions = "link_transitions", BAD;
    /// Data arrived other than it was sent.
    DataMismatch = "data_mismatch", &[Verdict::Fail];
    /// An error counter rose faster than the limit.
    CounterRate = "counter_rate", BAD;
    /// A device stopped answering.
    DeviceLost = "device_lost", &[Verdict::Fail];
    /// Fewer or other devices than the profile expects.
    DeviceMissing = "device_missing", &[Verdict::Fail];
    /// A copy or collective that does not end.
    Hang = "hang", &[Verdict::Fail];
    /// The two directions of a pair differ by more than the limit.
    Asymmetric = "asymmetric", BAD;
    /// One pair or device is slower, or has less, than its like.
    Outlier = "outlier", BAD;
    /// Memory of the far node is slower than the limit allows.
    NumaPenalty = "numa_penalty", BAD;
    /// The device hangs on another NUMA node, or memory lies on another one, than expected.
    NumaMisbound = "numa_misbound", BAD;
    /// Peer access is other than the profile expects.
    PeerUnexpected = "peer_unexpected", BAD;
    /// Heat or the power supply held the clocks down.
    Throttled = "throttled", BAD;
    /// The device came nearer to the temperature that it slows down at than the limit.
    NearSlowdown = "near_slowdown", BAD;
    /// Memory of the device was repaired, in this run or more often than the limit.
    MemoryRepaired = "memory_repaired", BAD;
    /// Memory of the device could not be repaired.
    RepairFailed = "repair_failed", &[Verdict::Fail];
    /// The rate fell over the time of the run by more than the limit.
    Drift = "drift", BAD;
    /// The machine went down or started anew in between.
    Rebooted = "rebooted", &[Verdict::Fail];
    /// The kernel log has events of a fault of a device or link.
    KernelEvents = "kernel_events", BAD;
    /// The server ended by itself, or refused.
    ServerExited = "server_exited", &[Verdict::Fail];
    /// Requests failed.
    RequestsFailed = "requests_failed", BAD;

    /// The interval lies across the limit after all samples that were allowed.
    Noisy = "noisy", OPEN;
    /// Too few samples for an interval.
    TooFewSamples = "too_few_samples", OPEN;
    /// A counter fell, so that its rise is not known.
    CounterReset = "counter_reset", OPEN;
    /// A repair of memory waits, for a reset of the device or for its driver.
    ResetPending = "reset_pending", OPEN;
    /// No load could be put on the link, so that its state says nothing.
    CannotLoadLink = "cannot_load_link", OPEN;
    /// The kernel or driver does not let this user look.
    Permission = "permission", OPEN;
    /// The process that watched the devices was lost or stopped, or a call of the driver blocked it.
    MonitorLost = "monitor_lost", OPEN;
    /// Others use the device.
    BusyDevice = "busy_device", OPEN;
    /// Other work had this machine's CPUs, so that nothing is known of the devices.
    BusyHost = "busy_host", OPEN;
    /// The baseline is of another driver, firmware or box.
    VersionMismatch = "version_mismatch", OPEN;
    /// It could not be read, or the reading contradicts what was measured.
    Unreadable = "unreadable", OPEN;
    /// Memory of the far node was faster than that of the near one.
    NumaInversion = "numa_inversion", OPEN;
    /// The profile does not say what to expect, and must.
    NotStated = "not_stated", OPEN;
    /// A worker ended without a result.
    WorkerFailed = "worker_failed", OPEN;
    /// Memory ran out.
    OutOfMemory = "out_of_memory", OPEN;
    /// The run ended before.
    Interrupted = "interrupted", OPEN;

    /// There is no such thing on this box.
    NotApplicable = "not_applicable", LEFT;
    /// The device or its driver does not have it.
    UnsupportedByDevice = "unsupported_by_device", LEFT;
    /// A guest of a hypervisor is not shown it.
    Virtualized = "virtualized", LEFT;
    /// A library is not installed.
    MissingLibrary = "missing_library", LEFT;
    /// The time was used up.
    Budget = "budget", LEFT;
    /// Something that it rests on failed.
    DependencyFailed = "dependency_failed", LEFT;
    /// Left out on the command line.
    ExcludedByUser = "excluded_by_user", LEFT;
    /// Not part of this level, or not asked for.
    NotAsked = "not_asked", LEFT;
}

impl ReasonCode {
    /// What to do about a fault of the hardware, whatever the check was to look at; `None` of a reason that is none. A check that fails for
    /// such a reason rejects a box whether it is required or not: what hangs, is gone or delivers wrong data is no question of speed.
    pub(crate) fn fault_advice(self) -> Option<&'static str> {
        match self {
            Self::Hang => Some(
                "look what the driver logged (dmesg: Xid, resets) and whether the vendor's tool (nvidia-smi, amd-smi, mx-smi) still answers; then \
                 check power cables and seat of the card, try another slot, and run again",
            ),
            Self::DeviceLost => Some(
                "look what the driver logged (dmesg: Xid, resets, a link that went down); check power cables, supply and seat of the card, start \
                 the machine anew and run again",
            ),
            Self::DataMismatch => Some(
                "take the device out of service; run the vendor's memory test, and between devices look at ACS and IOMMU too (p2p-bw doctor)",
            ),
            _ => None,
        }
    }

    /// Whether a check that fails for it rejects a box though nobody demanded the check.
    pub(crate) fn is_fault(self) -> bool {
        self.fault_advice().is_some()
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
    /// A required check could not be told.
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
                // What is not required and is not good is told, and decides nothing.
                Verdict::Fail | Verdict::Inconclusive => warned = true,
                Verdict::Skip => {
                    warned |= reason == ReasonCode::Budget
                        || (sees_faults && reason == ReasonCode::ExcludedByUser);
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
            (vec![(true, Pass, R::WithinLimit)], BoxVerdict::Accepted),
            // Measured, but nothing that was required.
            (
                vec![(false, Pass, R::WithinLimit)],
                BoxVerdict::Inconclusive,
            ),
            (
                vec![(true, Pass, R::WithinLimit), (true, Warn, R::BelowFloor)],
                BoxVerdict::AcceptedWithWarnings,
            ),
            (
                vec![(true, Pass, R::WithinLimit), (true, Skip, R::NotApplicable)],
                BoxVerdict::Accepted,
            ),
            (
                vec![
                    (true, Pass, R::WithinLimit),
                    (true, Skip, R::ExcludedByUser),
                ],
                BoxVerdict::Inconclusive,
            ),
            (
                vec![(true, Pass, R::WithinLimit), (true, Inconclusive, R::Noisy)],
                BoxVerdict::Inconclusive,
            ),
            (
                vec![(true, Inconclusive, R::Noisy), (true, Fail, R::Hang)],
                BoxVerdict::Rejected,
            ),
            (
                vec![(true, Pass, R::WithinLimit), (false, Fail, R::Outlier)],
                BoxVerdict::AcceptedWithWarnings,
            ),
        ] {
            let rows = checks.iter().map(|row| (*row, false));
            assert_eq!(BoxVerdict::of_rows(rows), expected, "{checks:?}");
        }
    }

    #[test]
    fn what_was_left_out_by_hand_or_for_want_of_time_is_something_to_look_at() {
        let good = ((true, Pass, R::WithinLimit), false);
        for (left_out, sees_faults, expected) in [
            (R::ExcludedByUser, true, BoxVerdict::AcceptedWithWarnings),
            (R::ExcludedByUser, false, BoxVerdict::Accepted),
            (R::UnsupportedByDevice, true, BoxVerdict::Accepted),
            // Asked for, as the level has it, and no time was left.
            (R::Budget, false, BoxVerdict::AcceptedWithWarnings),
            (R::NotAsked, false, BoxVerdict::Accepted),
        ] {
            let rows = [good, ((false, Skip, left_out), sees_faults)];
            assert_eq!(BoxVerdict::of_rows(rows), expected, "{left_out:?}");
        }
    }

    #[test]
    fn only_two_reasons_stand_with_a_pass() {
        let passing = ReasonCode::ALL
            .iter()
            .filter(|code| code.verdicts().contains(&Pass));
        assert_eq!(
            passing.collect::<Vec<_>>(),
            [&R::WithinLimit, &R::AsExpected]
        );
    }
}
