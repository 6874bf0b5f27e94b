//! What truly happened: when each request came in and when each write of tokens began.

use serde::Serialize;

/// Everything that a server of known schedule did, as `GET /truth` gives it.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(super) struct Truth {
    /// Version of this form.
    pub(super) schema: u32,
    /// Where instants are counted from, ns of CLOCK_MONOTONIC.
    pub(super) start_ns: Option<u64>,
    /// From a request's receipt to its first token by the schedule, us; `None` without a schedule.
    pub(super) ttft_us: Option<f64>,
    /// From a write to the next by the schedule, us.
    pub(super) write_every_us: Option<f64>,
    /// Requests for tokens in the order in which they were understood.
    pub(super) requests: Vec<TruthOf>,
}

/// What truly happened to one request.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(super) struct TruthOf {
    /// Its `x-request-id`, where it had one.
    pub(super) id: Option<String>,
    /// When its last byte came in, ns after the start.
    pub(super) receipt_ns: u64,
    /// Whether that is the kernel's time stamp; else it is when it was read.
    pub(super) by_kernel: bool,
    /// Output tokens that were written.
    pub(super) tokens: u32,
    /// When each write of tokens began, us after the receipt; not kept without a schedule.
    pub(super) writes_us: Vec<u32>,
    /// Writes that the socket did not take whole at once: what they held left later.
    pub(super) blocked: u32,
    /// Whether all of it was handed to the socket.
    pub(super) done: bool,
}

/// The version of [`Truth`]'s form.
pub(super) const SCHEMA: u32 = 1;
