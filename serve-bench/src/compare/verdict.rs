//! What the interval of a ratio says where each side is one run: intervals hold what varies between requests, and two runs of one
//! setting differ by more.

use measure::stats::Interval;
use program::compare::Threshold;
use serde::Serialize;

/// Which of two numbers is the better one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Direction {
    /// The larger, of a rate.
    More,
    /// The smaller, of a time.
    Less,
}

/// What a ratio with an interval says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Verdict {
    /// B is worse by more than the threshold and what runs may differ by.
    Regression,
    /// Beyond the threshold by no more than runs of one setting may differ by.
    Differs,
    /// Not told from noise.
    Unclear,
    /// Within the threshold.
    Same,
    /// B is better by more than the threshold and what runs may differ by.
    Faster,
}

impl Verdict {
    /// What two runs of one setting may differ by beyond the threshold (our choice: means of repeated runs on one quiet machine
    /// were seen some percent apart).
    pub(super) const RUN_TO_RUN: f64 = 0.05;

    /// What stands in a table.
    pub(super) fn words(self) -> &'static str {
        match self {
            Self::Regression => "REGRESSION",
            Self::Differs => "differs",
            Self::Unclear => "not told from noise",
            Self::Same => "same",
            Self::Faster => "faster",
        }
    }

    /// The verdict on B/A.
    pub(super) fn of(
        interval: Interval,
        better: Direction,
        Threshold(threshold): Threshold,
    ) -> Self {
        let Interval { low, high, .. } = interval;
        if low >= 1.0 - threshold && high <= 1.0 + threshold {
            return Self::Same;
        }
        let (above, below) = match better {
            Direction::More => (Self::Faster, Self::Regression),
            Direction::Less => (Self::Regression, Self::Faster),
        };
        let beyond = threshold + Self::RUN_TO_RUN;
        if low > 1.0 + beyond {
            above
        } else if high < 1.0 - beyond {
            below
        } else if low > 1.0 + threshold || high < 1.0 - threshold {
            Self::Differs
        } else {
            Self::Unclear
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(low: f64, high: f64, better: Direction) -> Verdict {
        let interval = Interval {
            low,
            high,
            level: 0.95,
        };
        Verdict::of(interval, better, Threshold(0.05))
    }

    #[test]
    fn only_beyond_what_runs_differ_by_is_it_a_regression() {
        // 5% and 5%: beyond 1.10 or below 0.90.
        assert_eq!(of(1.11, 1.2, Direction::Less), Verdict::Regression);
        assert_eq!(of(0.8, 0.89, Direction::Less), Verdict::Faster);
        assert_eq!(of(0.8, 0.89, Direction::More), Verdict::Regression);
        assert_eq!(of(1.06, 1.2, Direction::Less), Verdict::Differs);
        assert_eq!(of(0.8, 0.94, Direction::Less), Verdict::Differs);
        assert_eq!(of(1.04, 1.2, Direction::Less), Verdict::Unclear);
        assert_eq!(of(0.96, 1.04, Direction::Less), Verdict::Same);
    }
}
