//! [`Allowance`]: the time that downloads and boots may take together, so that a slow network or machine cannot hold up all else.
//!
//! It ends nothing by itself: a step is told how long it may take. What is built between the steps does not count.

use std::time::{Duration, Instant};

/// What downloads and boots may take together, in seconds; some ten times what they take on two idle cores.
const SECONDS: u64 = 300;

/// What is left of the time.
pub(super) struct Allowance {
    left: Duration,
}

impl Allowance {
    /// The whole of it.
    pub(super) fn whole() -> Allowance {
        Allowance::of(SECONDS)
    }

    /// So many seconds.
    pub(super) fn of(seconds: u64) -> Allowance {
        Allowance {
            left: Duration::from_secs(seconds),
        }
    }

    /// Runs a step, which is given the whole seconds that it may take, `most` or less, and takes off what it took.
    ///
    /// `None` where no second is left: to `timeout`, 0 is no limit.
    pub(super) fn spend<T>(&mut self, most: u64, step: impl FnOnce(u64) -> T) -> Option<T> {
        let seconds = self.left.as_secs().min(most);
        if seconds == 0 {
            return None;
        }
        let start = Instant::now();
        let result = step(seconds);
        self.left = self.left.saturating_sub(start.elapsed());
        Some(result)
    }

    /// All that is left.
    pub(super) fn seconds(&self) -> u64 {
        self.left.as_secs()
    }
}

/// Says that nothing is left.
pub(super) fn over() -> String {
    format!("the {SECONDS} s for downloads and boots are over")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_may_take_what_it_asks_for_or_what_is_left() {
        let mut allowance = Allowance::of(50);
        assert_eq!(allowance.spend(20, |seconds| seconds), Some(20));
        let mut allowance = Allowance::of(50);
        assert_eq!(allowance.spend(90, |seconds| seconds), Some(50));
    }

    #[test]
    fn what_a_step_took_is_gone_and_without_a_second_nothing_runs() {
        let mut allowance = Allowance::of(1);
        // The step ends later than it began, so that less than the one second is left, which makes 0 whole seconds.
        let start = Instant::now();
        allowance.spend(1, |_| while start.elapsed().is_zero() {});
        assert_eq!(allowance.seconds(), 0);
        assert_eq!(allowance.spend(1, |seconds| seconds), None);
    }
}
