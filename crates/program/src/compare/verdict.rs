//! What a ratio of two numbers says: the same, faster, a regression, or nothing yet.

use std::str::FromStr;

use record::quantity::Unit;
use serde::{Serialize, Serializer};
use stats::Interval;

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

impl Verdict {
    /// What stands in a table.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Regression => "REGRESSION",
            Self::Unclear => "not told from noise",
            Self::Same => "same",
            Self::Faster => "faster",
            Self::NotJudged => "not judged",
        }
    }
}

/// Whether more of a unit is better.
fn more_is_better(unit: Unit) -> bool {
    match unit {
        Unit::GbPerS | Unit::TflopPerS => true,
        Unit::Microseconds | Unit::Nanoseconds => false,
    }
}

/// How much better B is than A: above 1 is better.
#[must_use]
pub(super) fn gain(ratio: f64, unit: Unit) -> f64 {
    if more_is_better(unit) {
        ratio
    } else {
        ratio.recip()
    }
}

/// The verdict on B/A, where both were measured alike.
#[must_use]
pub(super) fn judge(
    ratio: f64,
    interval: Option<Interval>,
    unit: Unit,
    threshold: Threshold,
) -> Verdict {
    judge_by(ratio, interval, more_is_better(unit), 0.0, threshold)
}

/// The verdict on B/A, of which more is better or less; `noise` is what two runs of one setting differ by beyond the threshold.
#[must_use]
pub fn judge_by(
    ratio: f64,
    interval: Option<Interval>,
    more_is_better: bool,
    noise: f64,
    Threshold(threshold): Threshold,
) -> Verdict {
    let (low, high) = interval.map_or((ratio, ratio), |interval| (interval.low, interval.high));
    if low >= 1.0 - threshold && high <= 1.0 + threshold {
        return Verdict::Same;
    }
    let beyond = match interval {
        Some(_) => threshold + noise,
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

    fn of(ratio: f64, half_width: f64, unit: Unit) -> Verdict {
        let interval = Interval {
            low: ratio - half_width,
            high: ratio + half_width,
            level: 0.95,
        };
        judge(ratio, Some(interval), unit, FIVE)
    }

    #[test]
    fn the_whole_interval_must_lie_beyond_the_threshold() {
        // 0.90 +- 0.02 ends at 0.92, below 0.95; 0.94 +- 0.02 ends at 0.96, which is not.
        assert_eq!(of(0.90, 0.02, Unit::GbPerS), Verdict::Regression);
        assert_eq!(of(0.94, 0.02, Unit::GbPerS), Verdict::Unclear);
        assert_eq!(of(1.00, 0.04, Unit::GbPerS), Verdict::Same);
        assert_eq!(of(1.00, 0.06, Unit::GbPerS), Verdict::Unclear);
        assert_eq!(of(1.10, 0.02, Unit::GbPerS), Verdict::Faster);
    }

    #[test]
    fn more_nanoseconds_are_worse() {
        assert_eq!(of(1.10, 0.02, Unit::Nanoseconds), Verdict::Regression);
        assert_eq!(of(0.90, 0.02, Unit::Microseconds), Verdict::Faster);
        // 1.25 times the time is 0.8 times as good.
        assert_eq!(gain(1.25, Unit::Nanoseconds), 0.8);
    }

    #[test]
    fn without_an_interval_three_thresholds_are_needed() {
        let of = |ratio| judge(ratio, None, Unit::GbPerS, FIVE);
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
