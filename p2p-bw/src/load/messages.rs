//! What the parent and the child that loads one device say to each other.

use inventory::Built;
use measure::quantity::TimeSource;
use serde::{Deserialize, Serialize};

use crate::messages::Series;

/// Asks for the load of one device; the only request.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct LoadRequest {
    pub(crate) backend: Built,
    pub(crate) ordinal: usize,
    /// Bytes of memory; `None` for half of what is free.
    pub(crate) bytes: Option<u64>,
    /// Bytes that are allocated and written as one.
    pub(crate) piece_bytes: u64,
    /// Seconds.
    pub(crate) seconds: f64,
}

/// What the child answers.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub(crate) enum LoadReply {
    /// Still at it: what begins now, also restarts the deadline.
    Doing { doing: String },
    /// Something came out wrong for the first time; the load goes on.
    Wrong { of: Load, seen: String },
    /// The time was over.
    Done { loaded: Box<Loaded> },
    /// It could not go on.
    Failed { reason: String },
}

/// A part of the load.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Load {
    Memory,
    Arithmetic,
}

/// What was done to a device.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Loaded {
    /// Bytes of memory that were written and checked in each pass.
    pub(crate) bytes: u64,
    /// Pieces of them, each a launch or a copy.
    pub(crate) pieces: u32,
    /// How often all of it was written and checked.
    pub(crate) passes: u64,
    pub(crate) source: TimeSource,
    pub(crate) memory: Counted,
    /// Why copies and not kernels wrote and compared it, where that is so.
    pub(crate) without_kernels: Option<String>,
    /// What multiplying came to, or why there was none.
    pub(crate) arithmetic: Result<Counted, String>,
}

/// What one part of the load came to.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Counted {
    pub(crate) series: Vec<Series>,
    /// Passes in which something was wrong.
    pub(crate) wrong_passes: u64,
    /// What was seen first.
    pub(crate) wrong: Option<String>,
}
