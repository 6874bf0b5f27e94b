//! A quantity as its draws give it: 5%, 50% and 95% quantile; and how good evidence is, from a direct measurement down to prior
//! knowledge.

use serde::{Deserialize, Serialize};

/// The 5%, 50% and 95% quantile of a quantity, in its unit.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Range {
    /// 5% quantile.
    pub low: f64,
    /// Median.
    pub mid: f64,
    /// 95% quantile.
    pub high: f64,
}

impl Range {
    /// The quantiles of the draws; `None` without draws, or where one is not finite.
    #[must_use]
    pub fn of(draws: &[f64]) -> Option<Self> {
        if draws.is_empty() || draws.iter().any(|value| !value.is_finite()) {
            return None;
        }
        let ascending = stats::sorted(draws);
        let at = |fraction: f64| stats::percentile_of_any(&ascending, fraction);
        Some(Self {
            low: at(0.05)?,
            mid: at(0.5)?,
            high: at(0.95)?,
        })
    }

    /// Their ratio, both above nothing, where their errors are independent: relative distances of the quantiles add by their squares.
    pub(crate) fn over(&self, by: &Self) -> Self {
        let mid = self.mid / by.mid;
        let below = ((self.mid - self.low) / self.mid).hypot((by.high - by.mid) / by.mid);
        let above = ((self.high - self.mid) / self.mid).hypot((by.mid - by.low) / by.mid);
        Self {
            low: mid * (1.0 - below),
            mid,
            high: mid * (1.0 + above),
        }
    }
}

/// A count as a number.
#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
pub(crate) fn count(n: u64) -> f64 {
    n as f64
}

/// A number as a count, none below zero.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "held between nothing and a billion"
)]
pub(crate) fn whole(value: f64) -> u32 {
    value.round().clamp(0.0, 1e9) as u32
}

/// How good the evidence of a figure is; the better one is the smaller.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, strum::Display,
)]
pub enum Grade {
    /// A trace, or a run of the 1/N shard.
    A,
    /// Only the link was varied, and the step followed.
    B,
    /// A curve of this machine times the count of calls.
    C,
    /// Prior knowledge only.
    D,
}

/// These in their order, what is there several times once.
pub(crate) fn each_once<'a, T: PartialEq + Clone + 'a>(
    all: impl IntoIterator<Item = &'a T>,
) -> Vec<T> {
    let mut once: Vec<T> = Vec::new();
    for one in all {
        if !once.contains(one) {
            once.push(one.clone());
        }
    }
    once
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_of_a_ratio_add_by_their_squares() {
        let of = |low, mid, high| Range { low, mid, high };
        // 3% and 4% make 5% below 100 / 50; 5% and 12% make 13% above.
        let ratio = of(97.0, 100.0, 105.0).over(&of(44.0, 50.0, 52.0));
        let off = (ratio.low - 1.9).abs() + (ratio.mid - 2.0).abs() + (ratio.high - 2.26).abs();
        assert!(off < 1e-9, "{ratio:?}");
    }

    #[test]
    fn quantiles_are_interpolated() {
        // 0..=100: positions 5, 50 and 95.
        let ramp: Vec<f64> = (0..=100).rev().map(f64::from).collect();
        let range = Range::of(&ramp).unwrap();
        assert_eq!((range.low, range.mid, range.high), (5.0, 50.0, 95.0));
        // Two values: 0.05 * 1 of the way from 0 to 10 is 0.5.
        assert_eq!(Range::of(&[0.0, 10.0]).unwrap().low, 0.5);
        assert_eq!(Range::of(&[]), None);
        assert_eq!(Range::of(&[1.0, f64::NAN]), None);
    }
}
