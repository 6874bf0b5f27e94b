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

/// Makes [`ReasonCode`]: a row is the code, its word, and its words in reports of before.
macro_rules! reasons {
    ($($(#[doc = $meaning:literal])+ $code:ident = $word:literal, was [$($old:literal),*];)+) => {
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
        }
    };
}

reasons! {
    /// Measured or seen, and as it should be.
    AsExpected = "as-expected", was ["within_limit", "as_expected"];
    /// A figure beyond its limit, interval included; the limit says whether it is the profile's, the baseline's or that of its like.
    BeyondLimit = "beyond-limit", was ["below-baseline", "outlier", "below_floor", "above_limit", "numa_penalty", "near_slowdown", "drift", "below_baseline", "asymmetric"];
    /// The link at the slot is slower or narrower under load than the profile expects, or changes.
    LinkDegraded = "link-degraded", was ["link_degraded", "link_transitions"];
    /// Devices, NUMA nodes or peer access are other than the profile expects.
    ConfigMismatch = "config-mismatch", was ["device-missing", "wrong-node", "peer-unexpected", "device_missing", "numa_misbound", "numa_inversion", "peer_unexpected"];
    /// Data arrived other than it was sent.
    WrongData = "wrong-data", was ["data_mismatch"];
    /// A device stopped answering.
    DeviceLost = "device-lost", was ["device_lost", "rebooted"];
    /// A copy or collective that does not end.
    Hang = "hang", was [];
    /// Errors of a link, of memory or of requests were counted, logged or repaired.
    ErrorsCounted = "errors-counted", was ["requests-failed", "counter_rate", "kernel_events", "memory_repaired", "repair_failed", "server_exited", "requests_failed"];
    /// Heat or the power supply held the clocks down.
    Throttled = "throttled", was [];
    /// The interval lies across the limit after all samples that were allowed, there are too few for one, or other work had the CPUs.
    Noisy = "noisy", was ["too_few_samples", "host-busy", "busy_host"];
    /// Others use the device.
    DeviceBusy = "device-busy", was ["busy_device"];
    /// It cannot be read here, is not stated, or contradicts what was measured.
    Unreadable = "unreadable", was ["unsupported", "baseline-differs", "counter_reset", "reset_pending", "cannot_load_link", "permission", "monitor_lost", "not_stated", "version_mismatch", "unsupported_by_device", "virtualized", "missing_library"];
    /// A program ended without this result, what it depends on failed, or the run ended before.
    NotMeasured = "not-measured", was ["worker-failed", "interrupted", "worker_failed", "out_of_memory", "dependency_failed", "budget"];
    /// There is no such thing on this machine.
    NotApplicable = "not-applicable", was ["not_applicable"];
    /// Left out on the command line, or not part of this level.
    LeftOut = "left-out", was ["not-asked", "excluded_by_user", "not_asked"];
}

impl ReasonCode {
    /// Whether a check that fails for it rejects a machine though nobody demanded the check: what hangs, is gone or delivers wrong data is no
    /// question of speed.
    pub(crate) fn is_fault(self) -> bool {
        matches!(self, Self::Hang | Self::DeviceLost | Self::WrongData)
    }
}

#[cfg(test)]
mod tests {
    use super::ReasonCode as R;

    #[test]
    fn there_are_fifteen_codes_and_each_has_a_page() {
        assert_eq!(R::ALL.len(), 15);
        for code in R::ALL {
            assert!(view::codes::page(code.code()).is_some(), "{}", code.code());
        }
    }

    #[test]
    fn the_codes_of_before_are_read() {
        for (old, code) in [
            ("below-baseline", R::BeyondLimit),
            ("outlier", R::BeyondLimit),
            ("device-missing", R::ConfigMismatch),
            ("wrong-node", R::ConfigMismatch),
            ("peer-unexpected", R::ConfigMismatch),
            ("requests-failed", R::ErrorsCounted),
            ("host-busy", R::Noisy),
            ("baseline-differs", R::Unreadable),
            ("unsupported", R::Unreadable),
            ("worker-failed", R::NotMeasured),
            ("interrupted", R::NotMeasured),
            ("not-asked", R::LeftOut),
        ] {
            let read: R = serde_json::from_value(old.into()).unwrap();
            assert_eq!(read, code, "{old}");
        }
    }
}
