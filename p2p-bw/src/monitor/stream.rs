//! Where lines go: each is written whole and at once; a reader that went away ends the stream quietly.

use std::io;
use std::time::{Duration, Instant, SystemTime};

use anyhow::anyhow;
use program::Stop;
use program::outputs::printed;
use record::MonitorLine;

/// Why a stream ends from its reader's side.
#[derive(Debug)]
pub(super) enum Broken {
    /// The reader went away, as with `| head`; no failure.
    ReaderGone,
    /// The lines cannot be written.
    Failed(Stop),
}

/// The lines of one run, and how many of which kind.
pub(super) struct Stream {
    start: Instant,
    started: SystemTime,
    pub(super) samples: u64,
    pub(super) late: u64,
}

impl Stream {
    /// Starts the clock.
    pub(super) fn start() -> Self {
        Self {
            start: Instant::now(),
            started: SystemTime::now(),
            samples: 0,
            late: 0,
        }
    }

    /// The wall clock at the start; `None` before 1970 and after 2554.
    pub(super) fn started_unix_ns(&self) -> Option<u64> {
        let since = self.started.duration_since(SystemTime::UNIX_EPOCH);
        u64::try_from(since.ok()?.as_nanos()).ok()
    }

    /// Time since the start.
    pub(super) fn now(&self) -> Duration {
        self.start.elapsed()
    }

    /// An instant as time since the start; one before it is the start.
    pub(super) fn since_start(&self, at: Instant) -> Duration {
        at.saturating_duration_since(self.start)
    }

    /// Writes a line.
    pub(super) fn write(&mut self, line: &MonitorLine) -> Result<(), Broken> {
        let failed = |error: String| Broken::Failed(Stop::Internal(anyhow!(error)));
        let text = serde_json::to_string(line).map_err(|error| failed(error.to_string()))?;
        // A reader gets each line when it is written.
        printed(&(text + "\n")).map_err(|error| match error.kind() {
            io::ErrorKind::BrokenPipe => Broken::ReaderGone,
            _ => failed(format!("cannot write to standard output: {error}")),
        })?;
        match line {
            MonitorLine::Sample(_) => self.samples += 1,
            MonitorLine::Late(_) => self.late += 1,
            _ => {}
        }
        Ok(())
    }
}

/// Nanoseconds of a time, which fit for 584 years.
pub(super) fn ns(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
