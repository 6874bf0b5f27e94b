//! What parent and ranks say to each other, a JSON line each.
//!
//! The parent loads no vendor library; each rank is a process of its own, as in a serving engine, and may die or hang alone.

use std::path::PathBuf;

use device::collectives::UniqueId;
use inventory::Built;
use measure::quantity::TimeSource;
use measure::record::{CallMode, CollectiveKind, ElementType, LibraryFacts, Verification};
use serde::{Deserialize, Serialize};

/// What a rank is asked, in this order but for [`RankRequest::MakeId`], which rank 0 alone is asked.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "ask", rename_all = "snake_case")]
pub(crate) enum RankRequest {
    /// Open the device and the library; first and once.
    Open {
        backend: Built,
        /// The backend's index of the device.
        ordinal: usize,
        /// The library's file; `None` for the first that is found.
        library: Option<PathBuf>,
    },
    /// Make the id of the communicator.
    MakeId,
    /// Join it, and do one small call, in which a library connects the ranks.
    Join { id: UniqueId, ranks: u32, rank: u32 },
    /// Allocate and fill buffers, do one call and compare its result, then spoil the result.
    Prepare { job: Job },
    /// Take timed samples of the call that was prepared.
    Time {
        mode: CallMode,
        /// Calls in one sample.
        calls: u32,
        /// Samples to take.
        samples: u32,
    },
    /// Compare the result of the last timed call.
    Check,
}

/// One call at one size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Job {
    pub(crate) kind: CollectiveKind,
    pub(crate) element: ElementType,
    pub(crate) bytes_per_rank: u64,
    pub(crate) verify: bool,
}

/// What a rank answers.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub(crate) enum RankReply {
    Opened {
        library: LibraryFacts,
        /// Name of the soft box, where the library is a soft one.
        soft_box: Option<String>,
        /// The clock behind the device's events.
        events: TimeSource,
    },
    Id {
        id: UniqueId,
    },
    Joined,
    Prepared {
        verification: Verification,
    },
    /// Mean time of a call in each sample, in microseconds.
    Timed {
        microseconds: Vec<f64>,
    },
    /// The backend does not have the mode.
    NotThere {
        reason: String,
    },
    Checked {
        verification: Verification,
    },
    /// What begins now; restarts the deadline.
    Doing {
        doing: String,
    },
    /// It did not work; the process is of no more use.
    Failed {
        reason: String,
    },
}

/// Asks whether devices reach each other's memory.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct PeersRequest {
    pub(crate) backend: Built,
    /// The backend's indexes.
    pub(crate) ordinals: Vec<usize>,
}

/// What the driver says.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub(crate) enum PeersReply {
    /// Whether every device reaches every other.
    Told { every_pair: bool },
    /// It does not say.
    NotTold { reason: String },
}
