//! Arms drawn again, and how well a quantity of their means is known.
//!
//! An interval of a few launches is Student's. Its degrees of freedom are those of the arms that the quantity rests on: a slope that
//! one far arm bears is known by the launches of that arm, however many others there are.

use stats::Interval;

use super::launches::{Means, Measured, count, mean};
use super::student::{Z90, Z95, t};
use crate::random::Random;
use crate::range::Range;

/// Means of every arm as measured, and as often as asked drawn again.
pub(super) struct Sample<'a> {
    pub(super) arms: &'a [Measured<'a>],
    pub(super) means: Vec<Option<Means>>,
    pub(super) again: Vec<Vec<Option<Means>>>,
}

/// What one arm's launches make of the variance of a quantity, and its degrees of freedom.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Part {
    variance: f64,
    degrees: f64,
}

impl<'a> Sample<'a> {
    pub(super) fn draw(arms: &'a [Measured<'a>], seed: u64, draws: u32) -> Self {
        let mut random = Random::new(seed);
        Self {
            arms,
            means: arms.iter().map(Measured::means).collect(),
            again: (0..draws)
                .map(|_| arms.iter().map(|arm| arm.again(&mut random)).collect())
                .collect(),
        }
    }

    /// Launches of an arm less one, which is what their spread is known by.
    pub(super) fn degrees_of(&self, arm: usize) -> f64 {
        count(self.arms[arm].len()) - 1.0
    }

    /// Degrees of freedom of a quantity of the means of these arms: each arm's part of its variance by the jackknife, one launch
    /// left out at a time.
    pub(super) fn degrees(
        &self,
        arms: &[usize],
        of: impl Fn(&[Option<Means>]) -> Option<f64>,
    ) -> f64 {
        let part = |arm: &usize| {
            let launches = self.arms[*arm].len();
            let values: Vec<f64> = (0..launches)
                .filter_map(|left| {
                    let mut means = self.means.clone();
                    means[*arm] = self.arms[*arm].without(left);
                    of(&means)
                })
                .collect();
            let middle = mean(values.iter().copied()).unwrap_or(0.0);
            let squares: f64 = values.iter().map(|of| (of - middle).powi(2)).sum();
            let n = count(launches.max(1));
            Part {
                variance: (n - 1.0) / n * squares,
                degrees: n - 1.0,
            }
        };
        effective(&arms.iter().map(part).collect::<Vec<_>>())
    }

    /// A quantity as measured, and of every draw.
    fn values(&self, of: impl Fn(&[Option<Means>]) -> Option<f64>) -> Option<(f64, Vec<f64>)> {
        let own = of(&self.means)?;
        let values: Vec<f64> = self.again.iter().filter_map(|means| of(means)).collect();
        (values.len() * 10 >= self.again.len() * 9).then_some((own, values))
    }

    /// A quantity of the means of these arms.
    pub(super) fn range(
        &self,
        arms: &[usize],
        of: impl Fn(&[Option<Means>]) -> Option<f64>,
    ) -> Option<Range> {
        let (own, values) = self.values(&of)?;
        ninety(own, &values, self.degrees(arms, of))
    }

    /// A difference and its standard error, ms or us.
    pub(super) fn error(&self, of: impl Fn(&[Option<Means>]) -> Option<f64>) -> Option<(f64, f64)> {
        let (own, values) = self.values(of)?;
        let squares: f64 = values.iter().map(|value| (value - own).powi(2)).sum();
        Some((own, (squares / count(values.len())).sqrt()))
    }
}

/// Degrees of freedom of a sum of variances that are known by few launches each (Satterthwaite, Biometrics Bulletin 2, 110, 1946, in
/// Welch's form, Biometrika 34, 28, 1947, whose terms v^2 / (n + 2) - 2 take off what the variances' own errors add). It lies between
/// those of the arm with the fewest and those of all together.
fn effective(parts: &[Part]) -> f64 {
    let known = || parts.iter().filter(|part| part.degrees > 0.0);
    let all: f64 = known().map(|part| part.degrees).sum();
    let fewest = known().map(|part| part.degrees).fold(all, f64::min);
    let whole: f64 = known().map(|part| part.variance).sum();
    let squares: f64 = known()
        .map(|part| part.variance.powi(2) / (part.degrees + 2.0))
        .sum();
    if whole <= 0.0 || squares <= 0.0 {
        return all.max(1.0);
    }
    (whole.powi(2) / squares - 2.0).clamp(fewest, all).max(1.0)
}

/// The 5% and 95% quantiles around what was measured, widened by what few launches do not show of their own spread.
pub(super) fn ninety(own: f64, values: &[f64], degrees: f64) -> Option<Range> {
    let of = Range::of(values)?;
    let wider = t(Z90, degrees) / Z90;
    Some(Range {
        low: own + (of.low - own) * wider,
        mid: own,
        high: own + (of.high - own) * wider,
    })
}

/// The 2.5% and 97.5% quantiles, likewise.
pub(super) fn ninety_five(own: f64, values: &[f64], degrees: f64) -> Option<Interval> {
    let quantile = |fraction| stats::percentile(values, fraction);
    let wider = t(Z95, degrees) / Z95;
    let at = |value: f64| own + (value - own) * wider;
    Some(Interval {
        low: at(quantile(0.025)?),
        high: at(quantile(0.975)?),
        level: 0.95,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn degrees_are_those_of_the_arms_that_the_variance_rests_on() {
        let parts = |variances: &[f64]| -> Vec<Part> {
            let part = |variance: &f64| Part {
                variance: *variance,
                degrees: 4.0,
            };
            variances.iter().map(part).collect()
        };
        // One arm alone: 1 / (1 / 6) - 2 = 4. Another without a part changes nothing.
        assert!((effective(&parts(&[1.0])) - 4.0).abs() < 1e-9);
        assert!((effective(&parts(&[1.0, 0.0])) - 4.0).abs() < 1e-9);
        // Two alike: 4 / (2 / 6) - 2 = 10, more than the 8 of both together.
        assert_eq!(effective(&parts(&[1.0, 1.0])), 8.0);
        // 9 to 1: 100 / (82 / 6) - 2 = 5.3.
        assert!((effective(&parts(&[9.0, 1.0])) - 5.317).abs() < 1e-3);
        // Nothing spreads: all launches of all arms say so.
        assert_eq!(effective(&parts(&[0.0, 0.0])), 8.0);
        assert_eq!(effective(&[]), 1.0);
    }
}
