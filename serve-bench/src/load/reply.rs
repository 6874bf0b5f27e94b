//! A reply as it came in: what was found in it and when, and how the exchange went.

use std::time::{Duration, Instant};

use hyper::StatusCode;
use record::RequestError;

use super::arrival::Arrival;
use super::content::Content;

/// What came of one request.
#[derive(Debug)]
pub(super) struct Reply {
    /// Number of the request within its phase, from 0.
    pub(super) id: u32,
    /// Output tokens that it may have at most, where that is known.
    pub(super) limit: Option<u32>,
    /// When the load's schedule wanted it sent; the dispatcher fills it in, and `None` is a closed loop.
    pub(super) intended: Option<Instant>,
    /// Right before its first byte was handed to the socket; where there was no connection, when one was asked for.
    pub(super) sent: Instant,
    /// When its last byte came, or when it was given up.
    pub(super) ended: Instant,
    /// The status, once the head was there.
    pub(super) status: Option<StatusCode>,
    /// The simulated machine that the server says it plays.
    pub(super) soft_box: Option<String>,
    /// What was found in the body.
    pub(super) content: Content,
    /// The reads of the socket.
    pub(super) reads: Reads,
    /// Why there is no more of it; `None` where it was read to its end.
    pub(super) broke: Option<RequestError>,
    /// From the end of the slot's reply before to this request's first byte; `None` for a slot's first.
    pub(super) turnaround: Option<Duration>,
    /// Connections that had to be made anew for it.
    pub(super) reconnects: u32,
    /// How often it was sent again, because the server had closed the connection.
    pub(super) resent: u32,
}

/// The reads of a socket.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Reads {
    /// All of them.
    pub(super) count: u32,
    /// From the kernel's receipt of the bytes to their read, ns, one for each read with a stamp of the kernel.
    pub(super) lags_ns: Vec<u32>,
}

impl Reads {
    /// Adds a read.
    pub(super) fn add(&mut self, arrival: &Arrival) {
        self.count += 1;
        self.lags_ns.extend(arrival.received.map(|received| {
            let lag = arrival.read.saturating_duration_since(received);
            u32::try_from(lag.as_nanos()).unwrap_or(u32::MAX)
        }));
    }
}

impl Reply {
    /// A request that is about to be sent.
    pub(super) fn begin(id: u32) -> Self {
        let now = Instant::now();
        Self {
            id,
            limit: None,
            intended: None,
            sent: now,
            ended: now,
            status: None,
            soft_box: None,
            content: Content::default(),
            reads: Reads::default(),
            broke: None,
            turnaround: None,
            reconnects: 0,
            resent: 0,
        }
    }
}
