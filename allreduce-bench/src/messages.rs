//! What parent and ranks say to each other, a JSON line each.
//!
//! The parent loads no vendor library; each rank is a process of its own, as in a serving engine, and may die or hang alone.

use std::path::PathBuf;

use device::collectives::UniqueId;
use inventory::Built;
use record::quantity::{Gate, TimeSource};
use record::{CallMode, CollectiveKind, ElementType, Failure, LibraryFacts, Verification};
use serde::{Deserialize, Serialize};

/// What a rank is asked, in this order.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "ask", rename_all = "snake_case")]
pub(crate) enum RankRequest {
    /// Open the device and the library; first and once.
    Open(Open),
    /// Join the communicator. A serving engine's ranks do one small call too.
    Join { id: UniqueId, ranks: u32, rank: u32 },
    /// Allocate and fill buffers, do one call and compare its result, then spoil the result.
    Prepare {
        job: Job,
        /// Whether results are compared, now and by [`RankRequest::Check`].
        verify: bool,
    },
    /// Take timed samples of the call that was prepared.
    Time {
        mode: CallMode,
        /// Calls in one sample.
        calls: u32,
        /// Samples to take.
        samples: u32,
        /// Interleaved only: how long the work between two calls shall take, in microseconds.
        gap_us: Option<f64>,
    },
    /// Compare the result of the last timed call.
    Check,
}

/// What a rank opens.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Open {
    pub(crate) backend: Built,
    /// The backend's index of the device.
    pub(crate) ordinal: usize,
    /// The library's file; `None` for the first that is found.
    pub(crate) library: Option<PathBuf>,
    /// Whether it makes the id of the communicator, as rank 0 alone does.
    pub(crate) makes_id: bool,
}

/// One call at one size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct Job {
    pub(crate) kind: CollectiveKind,
    pub(crate) element: ElementType,
    pub(crate) bytes_per_rank: u64,
}

/// What a rank answers.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub(crate) enum RankReply {
    Opened(Opened),
    Joined,
    /// A call was done, and its result compared where that was asked for.
    Compared {
        verification: Verification,
        /// Of serving engines only, which choose for each size who does the calls.
        by: Option<Described>,
    },
    /// Mean time of a call in each sample, in microseconds.
    Timed {
        /// Interleaved: with the work before the call.
        microseconds: Vec<f64>,
        /// Interleaved: mean time of that work alone, in samples taken in turn with the others; empty in other modes.
        gap_microseconds: Vec<f64>,
        /// What held the calls of a sample until all were queued.
        gate: Gate,
    },
    /// The backend does not have the mode, or the library does not do the call.
    NotThere {
        reason: Failure,
    },
    /// What begins now; restarts the deadline.
    Doing {
        doing: String,
    },
    /// It did not work; the process is of no more use.
    Failed {
        reason: Failure,
    },
}

/// What a rank found when it opened device and library.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Opened {
    pub(crate) library: LibraryFacts,
    /// Name of the simulated machine, where the library is a simulated one.
    pub(crate) soft_box: Option<String>,
    /// The clock behind the device's events.
    pub(crate) events: TimeSource,
    /// The communicator's id, of the rank that makes it.
    pub(crate) id: Option<UniqueId>,
}

/// What a serving engine says of the calls that were done last.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Described {
    /// Its own name of what did them.
    pub(crate) by: String,
    /// Where the tensors were, in torch's words.
    pub(crate) device: String,
    /// What it said of how it does them.
    pub(crate) notes: Vec<String>,
}
