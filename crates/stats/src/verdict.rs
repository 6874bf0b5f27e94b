//! What a ratio of two numbers says: the same, faster, a regression, or nothing yet.

use std::str::FromStr;

use serde::{Serialize, Serializer};

use crate::Interval;

/// Without an interval, a ratio must be this many thresholds away to be told from noise (our choice: nvbandwidth's own three
/// samples were seen to spread by several percent).
const WITHOUT_INTERVAL: f64 = 3.0;

/// What counts as a difference, as a fraction.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Threshold(pub f64);

impl FromStr for Threshold {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number = text.strip_suffix('%').unwrap_or(text).trim();
        let percent: f64 = number
            .parse()
            .map_err(|_| format!("`{text}` is not a number of percent, such as 5%"))?;
        if percent > 0.0 && percent < 100.0 {
            Ok(Self(percent / 100.0))
        } else {
            Err(format!("`{text}` is not above 0% and below 100%"))
        }
    }
}

impl Serialize for Threshold {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.0)
    }
}

/// What a ratio says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// B is worse by more than the threshold.
    Regression,
    /// Not told from noise.
    Unclear,
    /// Within the threshold.
    Same,
    /// B is better by more than the threshold.
    Faster,
    /// Not judged: of different sizes, or this machine's own time beside a simulated machine.
    NotJudged,
}

/// The verdict on B/A, of which more is better or less: its whole interval lies beyond the threshold, or within it.
#[must_use]
pub fn judge_by(
    ratio: f64,
    interval: Option<Interval>,
    more_is_better: bool,
    Threshold(threshold): Threshold,
) -> Verdict {
    let (low, high) = interval.map_or((ratio, ratio), |interval| (interval.low, interval.high));
    if low >= 1.0 - threshold && high <= 1.0 + threshold {
        return Verdict::Same;
    }
    let beyond = match interval {
        Some(_) => threshold,
        None => threshold * WITHOUT_INTERVAL,
    };
    let (better, worse) = if more_is_better {
        (Verdict::Faster, Verdict::Regression)
    } else {
        (Verdict::Regression, Verdict::Faster)
    };
    if low > 1.0 + beyond {
        better
    } else if high < 1.0 - beyond {
        worse
    } else {
        Verdict::Unclear
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIVE: Threshold = Threshold(0.05);

    fn of(ratio: f64, half_width: f64, more_is_better: bool) -> Verdict {
        let interval = Interval {
            low: ratio - half_width,
            high: ratio + half_width,
            level: 0.95,
        };
        judge_by(ratio, Some(interval), more_is_better, FIVE)
    }

    #[test]
    fn the_whole_interval_must_lie_beyond_the_threshold() {
        // 0.90 +- 0.02 ends at 0.92, below 0.95; 0.94 +- 0.02 ends at 0.96, which is not.
        assert_eq!(of(0.90, 0.02, true), Verdict::Regression);
        assert_eq!(of(0.94, 0.02, true), Verdict::Unclear);
        assert_eq!(of(1.00, 0.04, true), Verdict::Same);
        assert_eq!(of(1.00, 0.06, true), Verdict::Unclear);
        assert_eq!(of(1.10, 0.02, true), Verdict::Faster);
        assert_eq!(of(1.10, 0.02, false), Verdict::Regression);
        assert_eq!(of(0.90, 0.02, false), Verdict::Faster);
    }

    #[test]
    fn without_an_interval_three_thresholds_are_needed() {
        let of = |ratio| judge_by(ratio, None, true, FIVE);
        assert_eq!(of(0.96), Verdict::Same);
        assert_eq!(of(0.90), Verdict::Unclear);
        assert_eq!(of(0.84), Verdict::Regression);
        assert_eq!(of(1.16), Verdict::Faster);
    }

    #[test]
    fn a_threshold_is_a_part_of_a_hundred() {
        assert_eq!("5%".parse(), Ok(Threshold(0.05)));
        assert_eq!("50".parse(), Ok(Threshold(0.5)));
        for text in ["0%", "-1", "100%", "x", "NaN", ""] {
            assert!(text.parse::<Threshold>().is_err(), "{text}");
        }
    }
}
