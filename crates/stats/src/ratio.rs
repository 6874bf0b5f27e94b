//! A ratio of two medians, never without its interval.

use serde::{Deserialize, Serialize};

use super::median::{Interval, LEVEL, MIN_FOR_INTERVAL, median};
use super::random::{SEED, SplitMix};
use super::sorted;

/// How often both groups are resampled.
const RESAMPLES: usize = 2000;

/// The ratio of one group's median to another's.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Ratio {
    /// Median of the numerator over median of the denominator.
    pub value: f64,
    /// 95% percentile-bootstrap interval.
    pub interval: Interval,
}

/// The ratio of the medians with a percentile-bootstrap interval over independent resamples of both groups.
///
/// `None` where either group has fewer than six samples or a median of zero: then no ratio is
/// claimed. The generator's seed is fixed, so the same samples give the same interval.
#[must_use]
pub fn ratio_of_medians(numerator: &[f64], denominator: &[f64]) -> Option<Ratio> {
    if numerator.len() < MIN_FOR_INTERVAL || denominator.len() < MIN_FOR_INTERVAL {
        return None;
    }
    let base = median(denominator).filter(|m| *m != 0.0)?;
    let value = median(numerator)? / base;
    let mut random = SplitMix::new(SEED);
    let mut draws = Vec::with_capacity(RESAMPLES);
    for _ in 0..RESAMPLES {
        let (top, bottom) = (
            resampled_median(&mut random, numerator)?,
            resampled_median(&mut random, denominator)?,
        );
        if bottom != 0.0 {
            draws.push(top / bottom);
        }
    }
    let draws = sorted(&draws);
    let tail = RESAMPLES / 40; // 2.5% of the draws
    let (low, high) = (
        *draws.get(tail)?,
        *draws.get(draws.len().checked_sub(tail + 1)?)?,
    );
    Some(Ratio {
        value,
        interval: Interval {
            low,
            high,
            level: LEVEL,
        },
    })
}

/// The median of as many values as there are, drawn with replacement.
fn resampled_median(random: &mut SplitMix, values: &[f64]) -> Option<f64> {
    let resample: Vec<f64> = values
        .iter()
        .map(|_| values[random.below(values.len())])
        .collect();
    median(&resample)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratio_of_constant_groups_is_exact() {
        // 20 / 10 = 2, and every resample has the same medians.
        let ratio = ratio_of_medians(&[20.0; 8], &[10.0; 8]).unwrap();
        assert_eq!(
            (ratio.value, ratio.interval.low, ratio.interval.high),
            (2.0, 2.0, 2.0)
        );
    }

    #[test]
    fn spread_widens_the_interval_around_the_value() {
        let top = [19.0, 20.0, 21.0, 20.0, 22.0, 18.0, 20.0];
        let ratio = ratio_of_medians(&top, &[10.0; 7]).unwrap();
        assert!(
            ratio.interval.low < 2.0 && ratio.interval.high > 2.0,
            "{ratio:?}"
        );
    }

    #[test]
    fn too_few_samples_claim_no_ratio() {
        assert_eq!(ratio_of_medians(&[1.0; 5], &[1.0; 8]), None);
        assert_eq!(ratio_of_medians(&[1.0; 8], &[0.0; 8]), None);
    }
}
