//! Instants as nanoseconds since the server began, and where that beginning is on the machine's monotonic clock.

use std::time::{Duration, Instant, SystemTime};

use nix::time::ClockId;

/// A kernel's time stamp that is older than this at its read was made before the clock of the day was set.
const STEPPED: Duration = Duration::from_secs(60);

/// The server's clock.
#[derive(Debug, Clone, Copy)]
pub(super) struct Clock {
    start: Instant,
    /// The beginning on CLOCK_MONOTONIC, which all processes of a machine share; `None` where it cannot be read.
    pub(super) start_ns: Option<u64>,
}

impl Clock {
    /// Begins now.
    pub(super) fn start() -> Self {
        let monotonic = ClockId::CLOCK_MONOTONIC.now().ok();
        Self {
            start: Instant::now(),
            start_ns: monotonic
                .and_then(|time| u64::try_from(Duration::from(time).as_nanos()).ok()),
        }
    }

    /// Now.
    pub(super) fn now(&self) -> u64 {
        nanoseconds(self.start.elapsed())
    }

    /// When the kernel took bytes in that are read now, from its stamp on the clock of the day; `None` where that clock was
    /// set in between, so that the stamp lies in the future or long ago.
    pub(super) fn of_stamp(&self, since_epoch: Duration) -> Option<u64> {
        let today = SystemTime::now();
        let now = self.now();
        let age = today
            .duration_since(SystemTime::UNIX_EPOCH)
            .ok()?
            .checked_sub(since_epoch)
            .filter(|age| *age < STEPPED)?;
        now.checked_sub(nanoseconds(age))
    }
}

fn nanoseconds(duration: Duration) -> u64 {
    // 584 years.
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
