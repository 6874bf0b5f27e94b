//! The engine's own log: one JSON object a line for each request, when its tokens truly were there.
//!
//! Wall instants are nanoseconds of CLOCK_MONOTONIC, which all processes of a machine share, so that a client's instants can be held
//! against them; a token's is taken before it is handed to its connection. Virtual instants are those of the scheduler.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};
use serde::Serialize;

/// What became of one request.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Row {
    /// Number of the request for tokens, from 0 in the order of arrival.
    pub(super) id: u64,
    /// The id that its reply carries.
    pub(super) reply: String,
    /// Tokens of its prompt.
    pub(super) prompt_tokens: u32,
    /// Those of them that came from the prefix cache; `None` where it was never admitted.
    pub(super) cached_tokens: Option<u32>,
    /// Output tokens that were asked for.
    pub(super) asked_tokens: u32,
    /// Output tokens that were made.
    pub(super) tokens: u32,
    /// How it ended.
    pub(super) end: End,
    /// The fault that was played on it.
    pub(super) fault: Option<&'static str>,
    /// From its arrival until it was admitted, ns of virtual time.
    pub(super) queued_ns: Option<u64>,
    /// Instants of CLOCK_MONOTONIC.
    pub(super) wall_ns: Instants,
    /// Instants of virtual time.
    pub(super) virtual_ns: Instants,
}

/// How a request ended for the engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum End {
    /// It got its last token.
    Finished,
    /// Its client went away, or the fault did not wait for its last token.
    Cancelled,
    /// The fault came before the engine.
    NotReached,
}

/// Instants of one request on one clock, ns; `None` for what did not come to be.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub(super) struct Instants {
    /// When all of it was there; in virtual time when the scheduler took note of it.
    pub(super) arrival: Option<u64>,
    /// When it left the queue.
    pub(super) admitted: Option<u64>,
    /// When its first token was there.
    pub(super) first_token: Option<u64>,
    /// When its last token so far was there.
    pub(super) last_token: Option<u64>,
}

/// Tells instants of this process on the clock that all processes share.
#[derive(Debug, Clone, Copy)]
pub(super) struct Clock {
    now: Instant,
    now_ns: u64,
}

impl Clock {
    /// Reads both clocks.
    pub(super) fn start() -> Self {
        let time = clock_gettime(ClockId::Monotonic);
        let seconds = Duration::from_secs(u64::try_from(time.tv_sec).unwrap_or(0));
        let rest = Duration::from_nanos(u64::try_from(time.tv_nsec).unwrap_or(0));
        Self {
            now: Instant::now(),
            now_ns: nanoseconds(seconds + rest),
        }
    }

    /// An instant after the start.
    pub(super) fn ns(&self, instant: Instant) -> u64 {
        self.now_ns + nanoseconds(instant.saturating_duration_since(self.now))
    }
}

/// Whole nanoseconds.
pub(super) fn nanoseconds(duration: Duration) -> u64 {
    // 584 years.
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// The file. A line is written whole, so that a log of a server that was killed ends with a whole one.
#[derive(Debug)]
pub(super) struct Log(Mutex<Option<File>>);

impl Log {
    /// Makes the file, or empties it.
    pub(super) fn create(path: &Path) -> std::io::Result<Self> {
        measure::private::create(path).map(|file| Self(Mutex::new(Some(file))))
    }

    /// Adds a line. A full disk ends the log, which is said, and not the server.
    pub(super) fn add(&self, row: &Row) {
        let mut file = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(open) = file.as_mut() else {
            return;
        };
        let written = serde_json::to_string(row)
            .map_err(std::io::Error::other)
            .and_then(|line| open.write_all(format!("{line}\n").as_bytes()));
        if let Err(error) = written {
            program::say!("--log: cannot write, the log ends here: {error}");
            *file = None;
        }
    }
}
