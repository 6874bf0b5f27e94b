//! [`Stream`]: where lines go, each written whole and at once; and [`Ticks`]: when readings are due, a fixed rhythm from the start, of which
//! instants that went by are left out and never made up for.

use std::io;
use std::time::{Duration, Instant, SystemTime};

use program::outputs::printed;
use record::MonitorLine;

/// The lines of one run, and how many of which kind.
pub(super) struct Stream {
    pub(super) start: Instant,
    /// The wall clock at the start; `None` before 1970 and after 2554.
    pub(super) started_unix_ns: Option<u64>,
    pub(super) samples: u64,
    pub(super) late: u64,
}

impl Stream {
    /// Starts the clock.
    pub(super) fn start() -> Self {
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        Self {
            start: Instant::now(),
            started_unix_ns: since.ok().map(ns),
            samples: 0,
            late: 0,
        }
    }

    /// Time since the start.
    pub(super) fn now(&self) -> Duration {
        self.start.elapsed()
    }

    /// Writes a line; a reader gets each when it is written.
    ///
    /// # Errors
    /// The reader went away, as with `| head`, or the line cannot be written.
    pub(super) fn write(&mut self, line: &MonitorLine) -> io::Result<()> {
        printed(&(serde_json::to_string(line)? + "\n"))?;
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

/// The rhythm.
#[derive(Debug)]
pub(super) struct Ticks {
    period: Duration,
    /// Number of the next one.
    next: u32,
    /// How many went by without being taken.
    pub(super) skipped: u64,
}

impl Ticks {
    /// So many a second, the first one at the start.
    pub(super) fn new(hz: f64) -> Self {
        Self {
            period: Duration::from_secs_f64(1.0 / hz),
            next: 0,
            skipped: 0,
        }
    }

    /// When the next one is due, from the start.
    pub(super) fn due(&self) -> Duration {
        self.period.saturating_mul(self.next)
    }

    /// Takes the one that is due at `now`; those before it that went by are counted.
    pub(super) fn take(&mut self, now: Duration) {
        let reached = now.as_nanos() / self.period.as_nanos().max(1);
        let current = u32::try_from(reached).unwrap_or(u32::MAX).max(self.next);
        self.skipped += u64::from(current - self.next);
        self.next = current.saturating_add(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn ten_a_second_are_due_every_100_ms() {
        let mut ticks = Ticks::new(10.0);
        for number in 0..5 {
            assert_eq!(ticks.due(), 100 * MS * number);
            // A little late each time, which does not add up.
            ticks.take(ticks.due() + 7 * MS);
        }
        assert_eq!(ticks.skipped, 0);
    }

    #[test]
    fn instants_that_went_by_are_left_out() {
        let mut ticks = Ticks::new(10.0);
        ticks.take(Duration::ZERO);
        // At 350 ms the ones of 100 and 200 ms went by, the one of 300 ms is taken, and 400 ms is next.
        ticks.take(350 * MS);
        assert_eq!((ticks.skipped, ticks.due()), (2, 400 * MS));
    }

    #[test]
    fn a_tick_is_never_taken_twice() {
        let mut ticks = Ticks::new(10.0);
        ticks.take(Duration::ZERO);
        ticks.take(100 * MS);
        // Taken a moment early, as by a clock that rounds.
        ticks.take(200 * MS - Duration::from_nanos(1));
        assert_eq!((ticks.skipped, ticks.due()), (0, 300 * MS));
    }
}
