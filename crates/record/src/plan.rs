//! When to stop sampling: the interval is narrow, enough samples were taken, or the budget ended.
//!
//! The plan only decides; it runs and times nothing.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::clock::Clock;
use stats::{MIN_FOR_INTERVAL, median, median_interval};

/// How one quantity is sampled.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// Untimed runs before the first sample.
    pub warmups: u32,
    /// Samples at least; six are needed for an interval.
    pub min_samples: usize,
    /// Samples at most.
    pub max_samples: usize,
    /// Stop once the wider side of the 95% interval is within this fraction of the median.
    pub target_relative_half_width: f64,
    /// Wall-clock time to aim at for the samples of this quantity; the minimum is taken even when it takes longer.
    pub budget: Duration,
}

impl Plan {
    /// Two warm-ups, six samples up to `max_samples`, a target of 1%, and the given budget.
    ///
    /// A maximum below six is honoured; such a quantity has no interval.
    #[must_use]
    pub fn new(max_samples: usize, budget: Duration) -> Self {
        Self {
            warmups: 2,
            min_samples: MIN_FOR_INTERVAL.min(max_samples),
            max_samples,
            target_relative_half_width: 0.01,
            budget,
        }
    }
}

/// Why sampling ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// The interval of the median became as narrow as asked.
    IntervalNarrow,
    /// The maximum number of samples was taken.
    MaxSamples,
    /// The time budget ended first; the interval is wider than asked.
    Budget,
}

/// Whether the interval is looked at after this many samples: 6, 10, 20, 40 and so on.
///
/// Looking after every sample would stop on a narrow interval that came by chance, and a 95% interval would hold less
/// than that: 92% instead of 96% for two-level samples in a simulation.
fn is_look(n: usize) -> bool {
    n == MIN_FOR_INTERVAL || (n.is_multiple_of(10) && (n / 10).is_power_of_two())
}

/// Follows a [`Plan`]: asked after each sample whether to take another.
#[derive(Debug)]
pub struct Sampling<'c, C: Clock> {
    plan: Plan,
    clock: &'c C,
    started: Duration,
}

impl<'c, C: Clock> Sampling<'c, C> {
    /// Starts the budget now.
    pub fn start(plan: Plan, clock: &'c C) -> Self {
        Self {
            plan,
            clock,
            started: clock.now(),
        }
    }

    /// Why to stop after these samples of every watched quantity, or `None` to go on.
    ///
    /// All series must be narrow; they have the same length. The minimum number is always taken.
    pub fn stop(&self, series: &[&[f64]]) -> Option<StopReason> {
        let n = series.first().map_or(0, |samples| samples.len());
        if n >= self.plan.max_samples {
            return Some(StopReason::MaxSamples);
        }
        if n < self.plan.min_samples {
            return None;
        }
        if is_look(n) && series.iter().all(|samples| self.is_narrow(samples)) {
            return Some(StopReason::IntervalNarrow);
        }
        (self.clock.now() - self.started >= self.plan.budget).then_some(StopReason::Budget)
    }

    fn is_narrow(&self, samples: &[f64]) -> bool {
        let width = median_interval(samples)
            .zip(median(samples))
            .and_then(|(interval, median)| interval.relative_half_width(median));
        width.is_some_and(|width| width <= self.plan.target_relative_half_width)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    /// A clock that moves only when it is told to.
    #[derive(Debug, Default)]
    struct Fake(Cell<Duration>);

    impl Fake {
        fn advance(&self, by: Duration) {
            self.0.set(self.0.get() + by);
        }
    }

    impl Clock for Fake {
        fn now(&self) -> Duration {
            self.0.get()
        }
    }

    fn plan() -> Plan {
        Plan::new(20, Duration::from_secs(1))
    }

    #[test]
    fn six_equal_samples_are_enough() {
        let clock = Fake::default();
        let sampling = Sampling::start(plan(), &clock);
        assert_eq!(sampling.stop(&[&[5.0; 5]]), None);
        assert_eq!(
            sampling.stop(&[&[5.0; 6]]),
            Some(StopReason::IntervalNarrow)
        );
    }

    #[test]
    fn a_narrow_interval_counts_at_a_look_only() {
        let clock = Fake::default();
        let sampling = Sampling::start(Plan::new(100, Duration::from_secs(1)), &clock);
        let stops = |n| sampling.stop(&[&vec![5.0; n]]).is_some();
        let looks: Vec<usize> = (1..100).filter(|n| stops(*n)).collect();
        assert_eq!(looks, [6, 10, 20, 40, 80]);
    }

    #[test]
    fn every_series_must_be_narrow() {
        let clock = Fake::default();
        let wide = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
        let sampling = Sampling::start(plan(), &clock);
        assert_eq!(sampling.stop(&[&[5.0; 6], &wide]), None);
    }

    #[test]
    fn the_budget_ends_a_noisy_series_after_the_minimum() {
        let clock = Fake::default();
        let noisy = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
        let sampling = Sampling::start(plan(), &clock);
        assert_eq!(sampling.stop(&[&noisy]), None);
        clock.advance(Duration::from_secs(2));
        assert_eq!(sampling.stop(&[&noisy[..5]]), None);
        assert_eq!(sampling.stop(&[&noisy]), Some(StopReason::Budget));
    }

    #[test]
    fn the_maximum_ends_it_too() {
        let clock = Fake::default();
        let sampling = Sampling::start(Plan::new(1, Duration::from_secs(1)), &clock);
        assert_eq!(sampling.stop(&[&[5.0]]), Some(StopReason::MaxSamples));
    }
}
