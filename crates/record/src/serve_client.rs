//! What the load generator took and how late it was: a client that lags reports its own delay as the server's.

use serde::{Deserialize, Serialize};

use stats::Distribution;

/// The load generator's own figures over the measured part.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ServeClient {
    /// Whose clock the instants of replies are from.
    pub stamps: Stamps,
    /// Part of the reads that had a kernel time stamp, 0 to 1; `None` where none was asked for.
    pub kernel_stamped: Option<f64>,
    /// From the instant at which a request was to be sent to its first byte, ms: the schedule's in an open loop, that at which
    /// its place was free in a closed one.
    pub send_lag_ms: Option<Distribution>,
    /// From the kernel's receive time stamp to the read of those bytes, ms; `None` without kernel time stamps.
    pub read_lag_ms: Option<Distribution>,
    /// Part of the time that the load's thread was on a CPU, 0 to 1.
    pub busy: Option<f64>,
    /// Part of the time that it was runnable without a CPU, 0 to 1.
    pub starved: Option<f64>,
    /// Requests that were due and not yet sent, at most.
    pub largest_backlog: Option<u32>,
    /// Connections made anew because the server had closed one.
    pub reconnects: u32,
    /// Why times of this run are the client's own and not the server's; empty where they are the server's.
    pub invalid: Vec<String>,
}

/// Whose clock the instants of replies are from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stamps {
    /// Taken by the program right after each read of the socket.
    #[default]
    AtRead,
    /// The kernel's, of when the bytes came in (SO_TIMESTAMPING); where a read had none, that of the read.
    AtReceipt,
}
