//! What is far from its like: the modified z score (Iglewicz and Hoaglin, How to Detect and Handle Outliers, 1993) with a floor under the
//! spread, and a difference that must matter, too. Numbers in, numbers out; what they are of is not known here.
//!
//! A standard deviation would not do: of N values none lies further from the mean than (N-1)/sqrt(N) of them, 2.85 for ten.

use stats::median;

/// So many must be alike before one of them is called different.
pub(crate) const MIN_ALIKE: usize = 4;
/// The modified z score beyond which a value is called different, as Iglewicz and Hoaglin advise.
pub(super) const Z: f64 = 3.5;
/// By so much of the median it must be worse, too (our choice: less does not decide about a box).
pub(super) const MATTERS: f64 = 0.03;
/// The spread is taken as no less than this part of the median (our choice), so that equal values make no outlier of the next.
pub(super) const LEAST_SPREAD: f64 = 0.01;
/// MAD of a normal distribution to its standard deviation.
const TO_SIGMA: f64 = 1.4826;

/// The middle of values that are alike, and how far they lie around it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Centre {
    /// The median.
    pub(super) median: f64,
    /// 1.4826 of the median absolute deviation.
    pub(super) spread: f64,
}

/// How far a value lies on the bad side.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Off {
    /// Modified z score; below zero is worse.
    pub(super) z: f64,
    /// How much worse than the median, as a part of it.
    pub(super) worse_by: f64,
}

impl Centre {
    /// Of values above zero; `None` where too few are alike.
    pub(super) fn of(values: &[f64]) -> Option<Self> {
        if values.len() < MIN_ALIKE {
            return None;
        }
        let median_of = |values: &[f64]| median(values);
        let median = median_of(values).filter(|median| *median > 0.0)?;
        let distances: Vec<f64> = values.iter().map(|value| (value - median).abs()).collect();
        Some(Self {
            median,
            spread: TO_SIGMA * median_of(&distances)?,
        })
    }

    /// How far a value lies on the bad side, where more is better or where less is.
    pub(super) fn off(&self, value: f64, more_is_better: bool) -> Off {
        let better_by = if more_is_better {
            value - self.median
        } else {
            self.median - value
        };
        let least = LEAST_SPREAD * self.median;
        Off {
            z: better_by / self.spread.max(least),
            worse_by: -better_by / self.median,
        }
    }
}

impl Off {
    /// Whether it is called different.
    pub(super) fn is_outlier(self) -> bool {
        self.z < -Z && self.worse_by > MATTERS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_score_is_that_of_the_arithmetic() {
        // Median 100; distances 8, 0, 0, 2, 4 have the median 2, so that the spread is 2.9652: (92 - 100) / 2.9652 = -2.698.
        let values = [92.0, 100.0, 100.0, 102.0, 104.0];
        let centre = Centre::of(&values).unwrap();
        assert_eq!(centre.median, 100.0);
        let off = centre.off(92.0, true);
        assert!((off.z + 2.698).abs() < 1e-3, "{off:?}");
        assert!((off.worse_by - 0.08).abs() < 1e-12);
        // For a time the same distance is on the good side.
        assert!(centre.off(92.0, false).z > 0.0);
    }

    #[test]
    fn the_floor_keeps_equal_values_from_making_an_outlier() {
        // All equal but one: spread 0, floor 1 of 100. 3.4 lower is z -3.4 and no outlier, 3.6 lower is one.
        for (low, expected) in [(96.6, false), (96.4, true)] {
            let centre = Centre::of(&[100.0, 100.0, 100.0, 100.0, low]).unwrap();
            let off = centre.off(low, true);
            assert_eq!(off.is_outlier(), expected);
        }
    }

    #[test]
    fn fewer_than_four_are_not_judged() {
        assert_eq!(Centre::of(&[1.0, 1.0, 0.2]), None);
        assert!(Centre::of(&[1.0, 1.0, 1.0, 0.2]).is_some());
    }
}
