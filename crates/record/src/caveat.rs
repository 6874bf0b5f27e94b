//! Things a reader must know before believing a number, as data with a stable code. The words stand in `view`.

use serde::{Deserialize, Serialize};

use crate::plan::StopReason;
use crate::serve_finding::ServeFinding;

/// A caveat about a number or a whole record.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, strum::IntoStaticStr)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[strum(serialize_all = "kebab-case")]
pub enum Caveat {
    /// Another process holds memory on a device or runs on it.
    DeviceBusy {
        /// The device's label, such as `GPU0`.
        device: String,
        /// Memory in use by others, in MiB.
        used_mib: u64,
        /// Names or process ids of those that could be listed.
        processes: Vec<String>,
    },
    /// Timed without a spin gate.
    NoGate,
    /// Buffers fit into a cache.
    CacheResident {
        /// Bytes of the largest buffer that does.
        bytes: u64,
        /// Bytes of the cache, and which one.
        cache_bytes: u64,
    },
    /// The interval is wider than asked, for the reason given.
    WideInterval {
        /// Wider side of the interval relative to the median; `None` below six samples.
        relative_half_width: Option<f64>,
        /// What ended the sampling, and so what to raise; absent in older records.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        stopped: Option<StopReason>,
    },
    /// Samples that lie far from the rest.
    Outliers {
        /// How many.
        count: usize,
        /// Of how many samples.
        n: usize,
    },
    /// The link got narrower or slower while it was measured.
    #[strum(serialize = "link-downshifted")]
    LinkNarrowed {
        /// The device's label.
        device: String,
        /// What it was, such as `Gen4 x16`.
        from: String,
        /// What it became.
        to: String,
    },
    /// The link is narrower or slower than device and slot could be.
    #[strum(serialize = "link-below-slot")]
    LinkBelowMaximum {
        /// The device's label.
        device: String,
        /// State under load.
        now: String,
        /// Maximum that device and slot report.
        maximum: String,
    },
    /// The maximum payload size could not be read, so the ceiling assumes one.
    #[strum(serialize = "payload-assumed")]
    PayloadSizeAssumed {
        /// Label of the device, or of several, with commas.
        device: String,
        /// The assumed size in bytes.
        bytes: u32,
    },
    /// Host memory was wanted on a node and is not proven to be there.
    PlacementUnproven {
        /// What is known.
        reason: String,
    },
    /// The process could not be bound to the CPUs of the device's node.
    NotBound {
        /// The device's label.
        device: String,
        /// Why.
        reason: String,
    },
    /// Copies that run at once, such as the two directions of a bidirectional case, did not end together.
    PartlyAlone {
        /// Part of the time in which all ran, 0 to 1.
        overlapped: f64,
    },
    /// No GPU driver answered and no GPU was seen, so host memory was measured.
    #[strum(serialize = "no-gpu-driver")]
    NoDriver {
        /// Why, for each backend: its name, a colon and the reason.
        reasons: Vec<String>,
    },
    /// More than the link can carry was measured.
    AboveCeiling {
        /// Fraction of the payload ceiling.
        fraction: f64,
    },
    /// Kernels reach a peer's memory far slower than copies do.
    KernelsStaged {
        /// Which access.
        access: PeerAccess,
        /// The pairs, as `GPU0->GPU1`: the first one's kernels reach the second one's memory.
        pairs: Vec<String>,
        /// Rate of kernels on the worst of them, in GB/s.
        kernel_gb_per_s: f64,
        /// Rate of the copy engine there.
        copy_gb_per_s: f64,
    },
    /// Several devices of the host backend share a CPU.
    SharedCpu {
        /// Labels of the devices.
        devices: Vec<String>,
        /// The CPU.
        cpu: usize,
    },
    /// The run ended before its time, since a record that can be read back holds no more.
    RecordFull {
        /// Requests that ended until then.
        requests: usize,
    },
    /// What was found about a load on a server.
    Serve {
        /// It.
        finding: ServeFinding,
    },
    /// A condition of the run that its code names.
    Condition {
        /// Which.
        condition: Condition,
        /// What was seen of it; for display only, may be empty.
        detail: String,
    },
}

/// What held during a run and has no figures of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, strum::IntoStaticStr)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Condition {
    /// The driver or the choice of a backend had something to say.
    BackendSaid,
    /// The management library lists MIG instances that the driver does not show to one process.
    MigHidden,
    /// Who else uses the devices is not known.
    UsersUnknown,
    /// The size of the last-level cache is unknown.
    CacheUnknown,
    /// The runtime copies by kernels, also where the copy engine was asked for.
    CopiesByKernel,
    /// Links beside PCI Express are not known.
    FabricUnknown,
    /// NVLinks of a device are down.
    NvlinkInactive,
    /// NVLinks of a device counted errors.
    NvlinkErrors,
    /// NVLinks of a device counted more errors while it was measured.
    NvlinkErrorsRise,
    /// The fabric of NVSwitches did not start.
    FabricManager,
    /// A device's link could not be read.
    LinkUnreadable,
    /// Links were not read throughout.
    LinkReadingLost,
    /// A crash of the host during a peer copy would not be remembered.
    CrashNotRemembered,
    /// Peer access was not taken back after a measurement.
    PeerAccessKept,
    /// A load covers a part of the device only.
    LoadCoverage,
    /// Memory was written and compared by copies and not by kernels.
    LoadByCopies,
    /// The engine would do these calls with a kernel of its own that was not timed.
    EngineKernelNotTimed,
    /// The library's log was not read.
    TransportNotLogged,
    /// The mode that predicts serving was not measured.
    InterleavedMissing,
    /// The plan assumes something about model, engine or machine.
    PlanAssumed,
    /// Ranks reduced in host memory: no figures of GPUs.
    HostMemoryRanks,
}

impl Condition {
    /// Its code.
    #[must_use]
    pub fn code(self) -> &'static str {
        self.into()
    }

    /// As a caveat.
    #[must_use]
    pub fn with(self, detail: impl Into<String>) -> Caveat {
        Caveat::Condition {
            condition: self,
            detail: detail.into(),
        }
    }
}

/// What a device does with a peer's memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PeerAccess {
    /// It reads there.
    Reads,
    /// It writes there.
    Writes,
}

impl Caveat {
    /// Its code.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Serve { finding } => finding.code(),
            Self::Condition { condition, .. } => condition.code(),
            other => other.into(),
        }
    }
}

/// Its code; the words are `view`'s.
impl std::fmt::Display for Caveat {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.code())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_condition_is_its_code_in_json_too() {
        let json = serde_json::to_value(Condition::MigHidden.with("2 of 4")).unwrap();
        assert_eq!(json["kind"], "condition");
        assert_eq!(json["condition"], Condition::MigHidden.code());
    }
}
