//! Peer access of a `tplens p2p` record: the verdict on each ordered pair, and the steps that it rests on.

use serde::{Deserialize, Serialize};
use topology::PeerSurroundings;

use crate::quantity::Quantity;

/// What a peer path turned out to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, strum::Display)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "lowercase")]
pub enum PeerVerdict {
    /// The devices reach each other's memory, and the data is right.
    Direct,
    /// Access is reported, but copies behave as if they went through host memory.
    Staged,
    /// The driver refuses access.
    Denied,
    /// A copy reported success and the owner found other data.
    #[strum(serialize = "wrong-data")]
    WrongData,
    /// A step did not end within its deadline.
    Hang,
    /// The machine went down during an earlier probe of this pair; it was not tried again.
    #[strum(serialize = "host_lost")]
    HostLost,
    /// Not tried, for the reason given.
    #[strum(serialize = "not tried")]
    NotTried,
    /// The probe itself failed, for the reason given.
    Failed,
}

/// The probe of one ordered pair: `from` accesses memory of `to`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PeerProbe {
    /// Index of the accessing device.
    pub from: usize,
    /// Index of the device whose memory is accessed.
    pub to: usize,
    /// The verdict.
    pub verdict: PeerVerdict,
    /// In words, what it rests on.
    pub rests_on: String,
    /// The steps in order.
    pub steps: Vec<PeerStep>,
    /// Whether kernels of the accessing device may use the path, too; the verdict is about copies.
    pub kernels: KernelAccess,
    /// What lies around the path; `None` where there is no bus.
    pub surroundings: Option<PeerSurroundings>,
}

/// Whether kernels may reach the memory of a peer, as the kernels of its probe found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum KernelAccess {
    /// What they wrote and read there was right.
    Usable,
    /// They failed, hung, or moved wrong data.
    Unusable {
        /// Which step, and what was seen.
        reason: String,
    },
    /// None ran.
    Untested {
        /// Why.
        reason: String,
    },
}

/// One step of a probe.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PeerStep {
    /// Its name, such as `access`, `write`, `small_copies` or `kernel_read`.
    pub name: String,
    /// What came out.
    pub outcome: StepOutcome,
}

/// What a step of a probe gave.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum StepOutcome {
    /// It passed; the text says what was seen.
    Passed {
        /// What.
        seen: String,
    },
    /// It failed or was refused.
    Refused {
        /// Why.
        reason: String,
    },
    /// Data was wrong.
    WrongData {
        /// First wrong byte and what was there.
        seen: String,
    },
    /// A time per copy, or a bandwidth; the unit is the quantity's.
    Timed {
        /// The number.
        quantity: Box<Quantity>,
    },
    /// The backend cannot do it.
    Skipped {
        /// Why.
        reason: String,
    },
}
