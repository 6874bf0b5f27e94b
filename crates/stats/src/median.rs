//! The median and its order-statistic confidence interval.

use serde::{Deserialize, Serialize};

use super::sorted;

/// The confidence level of every interval of a median.
pub const LEVEL: f64 = 0.95;

/// The smallest number of samples that has a 95% interval: with five, the whole range covers the
/// median in 1 - 2 * 0.5^5 = 93.75% of cases only; with six in 96.9%.
pub const MIN_FOR_INTERVAL: usize = 6;

/// A confidence interval, in the unit of the quantity it belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// Lower bound.
    pub low: f64,
    /// Upper bound.
    pub high: f64,
    /// Confidence level it has at least, such as 0.95.
    pub level: f64,
}

impl Interval {
    /// The larger distance from a value to a bound, relative to the value; `None` where that is zero.
    #[must_use]
    pub fn relative_half_width(&self, value: f64) -> Option<f64> {
        (value != 0.0).then(|| (self.high - value).max(value - self.low) / value.abs())
    }
}

/// The median; `None` without samples.
#[must_use]
pub fn median(values: &[f64]) -> Option<f64> {
    of_ascending(&sorted(values))
}

/// The median of ascending values.
pub(super) fn of_ascending(values: &[f64]) -> Option<f64> {
    let upper = values.len() / 2;
    match values.len() {
        0 => None,
        n if n % 2 == 1 => Some(values[upper]),
        _ => Some(f64::midpoint(values[upper - 1], values[upper])),
    }
}

/// The narrowest symmetric pair of order statistics that covers the median with at least 95%.
///
/// The number of samples below the true median is binomial(n, 1/2) whatever the distribution, so
/// the pair of ranks (k, n + 1 - k) covers it with 1 - 2 P(B < k). `None` below six samples, where
/// no pair reaches the level. Source: David and Nagaraja, Order Statistics, section 7.1.
#[must_use]
pub fn median_interval(values: &[f64]) -> Option<Interval> {
    interval_of_ascending(&sorted(values))
}

/// The interval of the median of ascending values.
pub(super) fn interval_of_ascending(values: &[f64]) -> Option<Interval> {
    let n = values.len();
    if n < MIN_FOR_INTERVAL {
        return None;
    }
    let rank = lower_rank(n);
    Some(Interval {
        low: values[rank - 1],
        high: values[n - rank],
        level: LEVEL,
    })
}

/// The largest k with P(binomial(n, 1/2) < k) <= 2.5%, found by adding exact terms in logarithms.
fn lower_rank(n: usize) -> usize {
    #[expect(clippy::cast_precision_loss, reason = "sample counts are small")]
    let n_real = n as f64;
    let mut log_term = -n_real * std::f64::consts::LN_2;
    let mut below = 0.0;
    for k in 0..n {
        below += log_term.exp();
        if below > (1.0 - LEVEL) / 2.0 {
            return k.max(1);
        }
        #[expect(clippy::cast_precision_loss, reason = "sample counts are small")]
        let (k, remaining) = (k as f64, (n - k) as f64);
        log_term += (remaining / (k + 1.0)).ln();
    }
    1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ramp(n: usize) -> Vec<f64> {
        (1..=n)
            .map(|i| f64::from(u32::try_from(i).unwrap()))
            .collect()
    }

    #[test]
    fn median_of_even_and_odd_counts() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), Some(2.5));
        assert_eq!(median(&[]), None);
    }

    #[test]
    fn interval_ranks_are_those_of_the_published_table() {
        // Ranks for 95%: n=6 -> 1..6, n=10 -> 2..9, n=20 -> 6..15, n=100 -> 40..61.
        for (n, low, high) in [
            (6, 1.0, 6.0),
            (10, 2.0, 9.0),
            (20, 6.0, 15.0),
            (100, 40.0, 61.0),
        ] {
            let interval = median_interval(&ramp(n)).unwrap();
            assert_eq!((interval.low, interval.high), (low, high), "n = {n}");
        }
    }

    #[test]
    fn five_samples_have_no_interval() {
        assert_eq!(median_interval(&ramp(5)), None);
    }

    #[test]
    fn a_very_large_sample_does_not_underflow() {
        // n = 5000: half-width of the ranks is about 1.96 * sqrt(5000) / 2 = 69.3.
        let interval = median_interval(&ramp(5000)).unwrap();
        assert!((2500.0 - interval.low - 69.3).abs() < 3.0, "{interval:?}");
    }

    #[test]
    fn relative_half_width_takes_the_wider_side() {
        let interval = Interval {
            low: 9.0,
            high: 12.0,
            level: LEVEL,
        };
        // (12 - 10) / 10 = 0.2, against (10 - 9) / 10 = 0.1.
        assert_eq!(interval.relative_half_width(10.0), Some(0.2));
        assert_eq!(interval.relative_half_width(0.0), None);
    }
}
