//! When readings are due: a fixed rhythm from the start, of which instants that went by are left out and never made up for.

use std::time::Duration;

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
