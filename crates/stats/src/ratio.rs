//! A ratio of two medians or means, never without its interval.

use serde::{Deserialize, Serialize};

use super::median::{Interval, LEVEL, MIN_FOR_INTERVAL, median};
use super::random::{SEED, SplitMix};
use super::sorted;

/// How often both groups are resampled.
const RESAMPLES: usize = 2000;

/// The ratio of one group's median or mean to another's.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Ratio {
    /// Of the numerator over that of the denominator.
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
    ratio(numerator, denominator, median)
}

/// The ratio of the means, as [`ratio_of_medians`]; one group of values for each request.
///
/// Values of one request resemble each other, so requests are drawn and not values. Requests of one run share batches and are not
/// independent either: the interval covers what varies between requests, and nothing that varies from run to run.
#[must_use]
pub fn ratio_of_means(numerator: &[Vec<f64>], denominator: &[Vec<f64>]) -> Option<Ratio> {
    #[expect(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
    let sums = |groups: &[Vec<f64>]| -> Vec<(f64, f64)> {
        let of = |group: &Vec<f64>| (group.iter().sum(), group.len() as f64);
        groups.iter().map(of).collect()
    };
    let mean = |units: &[(f64, f64)]| {
        let sum: f64 = units.iter().map(|unit| unit.0).sum();
        let count: f64 = units.iter().map(|unit| unit.1).sum();
        (count > 0.0).then(|| sum / count)
    };
    ratio(&sums(numerator), &sums(denominator), mean)
}

fn ratio<T: Copy>(
    numerator: &[T],
    denominator: &[T],
    of: impl Fn(&[T]) -> Option<f64>,
) -> Option<Ratio> {
    if numerator.len() < MIN_FOR_INTERVAL || denominator.len() < MIN_FOR_INTERVAL {
        return None;
    }
    let base = of(denominator).filter(|m| *m != 0.0)?;
    let value = of(numerator)? / base;
    let mut random = SplitMix::new(SEED);
    let mut resampled = |values: &[T]| {
        let drawn = values.iter().map(|_| values[random.below(values.len())]);
        of(&drawn.collect::<Vec<T>>())
    };
    let mut draws = Vec::with_capacity(RESAMPLES);
    for _ in 0..RESAMPLES {
        let (top, bottom) = (resampled(numerator)?, resampled(denominator)?);
        if bottom != 0.0 {
            draws.push(top / bottom);
        }
    }
    let draws = sorted(&draws);
    let tail = RESAMPLES / 40; // 2.5% of the draws
    let interval = Interval {
        low: *draws.get(tail)?,
        high: *draws.get(draws.len().checked_sub(tail + 1)?)?,
        level: LEVEL,
    };
    Some(Ratio { value, interval })
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

    #[test]
    fn requests_are_drawn_and_not_their_values() {
        // Six requests of 100 equal gaps each, half of 10 and half of 30 ms: mean 20. Were 600 gaps independent, the mean would be
        // known to 10 / sqrt(600) = 0.4 ms; six requests give 10 / sqrt(6) = 4.1 ms, so that 95% are about 12 to 28.
        let base = vec![vec![20.0; 100]; 6];
        let halves: Vec<Vec<f64>> = [10.0, 30.0]
            .iter()
            .flat_map(|gap| vec![vec![*gap; 100]; 3])
            .collect();
        let found = ratio_of_means(&halves, &base).unwrap().interval;
        assert!(found.low < 0.75 && found.high > 1.25, "{found:?}");
    }
}
