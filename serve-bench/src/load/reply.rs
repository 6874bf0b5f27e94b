//! A reply as it came in: bytes and instants. Nothing of it is parsed while the load runs.

use std::time::{Duration, Instant};

use bytes::Bytes;
use hyper::StatusCode;

/// What came of one request.
#[derive(Debug)]
pub(super) struct Reply {
    /// Number of the request within its phase, from 0.
    pub(super) id: u32,
    /// Right before its first byte was handed to the socket; where there was no connection, when one was asked for.
    pub(super) sent: Instant,
    /// When its last byte was read, or when it was given up.
    pub(super) ended: Instant,
    /// The status, once the head was there.
    pub(super) status: Option<StatusCode>,
    /// The soft box that the server says it plays.
    pub(super) soft_box: Option<String>,
    /// The body, each part with the instant at which it was read from the socket.
    pub(super) frames: Vec<(Instant, Bytes)>,
    /// Why there is no more of it; `None` where it was read to its end.
    pub(super) broke: Option<Broke>,
    /// From the end of the slot's reply before to this request's first byte; `None` for a slot's first.
    pub(super) turnaround: Option<Duration>,
    /// Connections that had to be made anew for it.
    pub(super) reconnects: u32,
}

/// What broke an exchange below the level of its content.
#[derive(Debug)]
pub(super) enum Broke {
    /// No connection could be made.
    Connect(String),
    /// It took longer than this.
    TimedOut(Duration),
    /// The connection ended.
    Cut(String),
    /// What came was not HTTP.
    NotHttp(String),
    /// More came than any reply can be.
    TooLarge,
}

impl Reply {
    /// A request that is about to be sent.
    pub(super) fn begin(id: u32) -> Self {
        let now = Instant::now();
        Self {
            id,
            sent: now,
            ended: now,
            status: None,
            soft_box: None,
            frames: Vec::new(),
            broke: None,
            turnaround: None,
            reconnects: 0,
        }
    }
}
