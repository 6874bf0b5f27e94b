//! The percentile bootstrap of a ratio of sums over independent units: a mean over requests, or over the gaps of requests.
//!
//! Few or skewed units are resampled. Of many, the distribution that resampling would draw from is known well enough from its
//! first three cumulants, which cost one pass instead of two thousand.

use super::median::MIN_FOR_INTERVAL;
use super::random::{SEED, SplitMix};
use super::sorted;

/// How often the units are resampled.
const RESAMPLES: usize = 2000;

/// From so many units on, the bootstrap's distribution is expanded where its skewness is small.
const MIN_FOR_EXPANSION: usize = 200;

/// Skewness of the bootstrap's distribution up to which its expansion to that order holds.
const MAX_SKEWNESS: f64 = 0.2;

/// The standard normal quantile of 97.5%.
const Z: f64 = 1.959_964;

/// The 95% bootstrap interval of the sum of the first numbers over the sum of the second ones, units resampled whole.
///
/// `None` below six units. The plain percentile interval is too narrow for few units, by about (n-1)/n in variance and by
/// normal instead of t quantiles; its tails are moved out by both (Hesterberg, What Teachers Should Know about the
/// Bootstrap, 2015, section 5.3).
pub(super) fn interval_of_ratio(units: &[(f64, f64)]) -> Option<(f64, f64)> {
    let n = units.len();
    if n < MIN_FOR_INTERVAL {
        return None;
    }
    if n >= MIN_FOR_EXPANSION
        && let Some(ends) = expanded(units)
    {
        return Some(ends);
    }
    resampled(units)
}

fn resampled(units: &[(f64, f64)]) -> Option<(f64, f64)> {
    let n = units.len();
    let mut random = SplitMix::new(SEED);
    let mut draws = Vec::with_capacity(RESAMPLES);
    for _ in 0..RESAMPLES {
        let (mut top, mut bottom) = (0.0, 0.0);
        for _ in 0..n {
            let unit = units[random.below(n)];
            top += unit.0;
            bottom += unit.1;
        }
        if bottom != 0.0 {
            draws.push(top / bottom);
        }
    }
    let draws = sorted(&draws);
    let beyond = beyond(n);
    Some((
        *draws.get(beyond)?,
        *draws.get(draws.len().checked_sub(beyond + 1)?)?,
    ))
}

/// The same interval by the Cornish-Fisher expansion of the bootstrap's distribution; `None` where it is too skewed for it.
///
/// With u = (a - r b) / mean(b) and y = b / mean(b) of a unit, and means over resampled units marked by *, the ratio is to second
/// order r + u* - u* (y* - 1). Its mean is r - cov(u, y) / n, its variance var(u) / n, its skewness (skewness(u) - 6 cov(u, y) / std(u)) / sqrt(n).
#[expect(clippy::cast_precision_loss, reason = "a number of requests")]
fn expanded(units: &[(f64, f64)]) -> Option<(f64, f64)> {
    let n = units.len() as f64;
    let (top, bottom) = units
        .iter()
        .fold((0.0, 0.0), |sum, unit| (sum.0 + unit.0, sum.1 + unit.1));
    let (ratio, mean) = (top / bottom, bottom / n);
    let (mut second, mut third, mut with_size) = (0.0, 0.0, 0.0);
    for (top, bottom) in units {
        let u = (top - ratio * bottom) / mean;
        second += u * u / n;
        third += u * u * u / n;
        with_size += u * (bottom / mean - 1.0) / n;
    }
    let std = second.sqrt();
    if std == 0.0 {
        return Some((ratio, ratio));
    }
    let skewness = (third / (second * std) - 6.0 * with_size / std) / n.sqrt();
    let end =
        |z: f64| ratio - with_size / n + std / n.sqrt() * (z + skewness * (z * z - 1.0) / 6.0);
    // What is not a number is not within it.
    (skewness.abs() <= MAX_SKEWNESS).then(|| (end(-quantile(n)), end(quantile(n))))
}

/// How many draws lie beyond each end of the interval.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a fraction of 2000 draws"
)]
fn beyond(n: usize) -> usize {
    (RESAMPLES as f64 * normal_tail(quantile(n as f64))) as usize
}

/// The normal quantile that makes up for what the bootstrap of `n` units lacks in variance and in tails.
fn quantile(n: f64) -> f64 {
    t_quantile(n - 1.0) * (n / (n - 1.0)).sqrt()
}

/// Student's 97.5% quantile by its expansion about the normal one (Abramowitz and Stegun, 26.7.5), for 5 degrees or more.
fn t_quantile(degrees: f64) -> f64 {
    let power = |n| Z.powi(n);
    Z + (power(3) + Z) / (4.0 * degrees)
        + (5.0 * power(5) + 16.0 * power(3) + 3.0 * Z) / (96.0 * degrees.powi(2))
        + (3.0 * power(7) + 19.0 * power(5) + 17.0 * power(3) - 15.0 * Z)
            / (384.0 * degrees.powi(3))
}

/// The part of a standard normal distribution above a positive value (Abramowitz and Stegun, 26.2.17; error below 1e-7).
fn normal_tail(value: f64) -> f64 {
    const COEFFICIENTS: [f64; 5] = [
        0.319_381_530,
        -0.356_563_782,
        1.781_477_937,
        -1.821_255_978,
        1.330_274_429,
    ];
    let t = 1.0 / (1.0 + 0.231_641_9 * value);
    let sum = COEFFICIENTS
        .iter()
        .rev()
        .fold(0.0, |sum, coefficient| (sum + coefficient) * t);
    sum * (-value * value / 2.0).exp() / std::f64::consts::TAU.sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_and_tails_are_those_of_the_tables() {
        // Student's 97.5% quantiles: 2.571 for 5 degrees, 2.045 for 29.
        assert!((t_quantile(5.0) - 2.571).abs() < 5e-3);
        assert!((t_quantile(29.0) - 2.045).abs() < 1e-3);
        // Normal tails: 2.5% above 1.96, 0.13499% above 3.
        assert!((normal_tail(1.959_964) - 0.025).abs() < 1e-6);
        assert!((normal_tail(3.0) - 0.001_349_9).abs() < 1e-6);
    }

    #[test]
    fn many_units_leave_two_and_a_half_percent_on_each_side() {
        // 2.5% of 2000 draws are 50; for a million units both corrections vanish.
        assert!((48..=50).contains(&beyond(1_000_000)));
        // Six: normal tail above 2.571 * sqrt(6/5) = 2.816 is 0.243%, of 2000 draws 4.9.
        assert_eq!(beyond(6), 4);
    }

    #[test]
    fn an_interval_of_95_percent_holds_the_truth_about_that_often() {
        // 600 groups of 8 values, each the sum of 12 uniform ones: nearly normal, true mean 6. With a coverage of 95% the
        // standard deviation of the share is sqrt(0.95 * 0.05 / 600) = 0.9%; the plain percentile interval covers P(|t7| < 1.96 sqrt(7/8)) = 89%.
        let mut random = SplitMix::new(1);
        #[expect(clippy::cast_precision_loss, reason = "53 bits")]
        let mut uniform = || (random.next() >> 11) as f64 / (1u64 << 53) as f64;
        let mut covered = 0;
        for _ in 0..600 {
            let units: Vec<(f64, f64)> = (0..8)
                .map(|_| ((0..12).map(|_| uniform()).sum(), 1.0))
                .collect();
            let (low, high) = interval_of_ratio(&units).unwrap();
            covered += u32::from(low <= 6.0 && 6.0 <= high);
        }
        let share = f64::from(covered) / 600.0;
        assert!((0.92..=0.985).contains(&share), "{share}");
    }

    #[test]
    fn many_units_have_the_interval_that_resampling_gives() {
        // 300 units whose tops are exponential (skewness 2, so 0.12 of their mean), and bottoms that grow with them or against
        // them or not at all. An end of 2000 draws has a standard error of about sqrt(0.025 * 0.975 / 2000) / density(1.96) = 6%
        // of the standard deviation, 1.5% of the width; four of them are 6% of it.
        let mut random = SplitMix::new(7);
        #[expect(clippy::cast_precision_loss, reason = "53 bits")]
        let mut uniform = || ((random.next() >> 11) as f64 + 0.5) / (1u64 << 53) as f64;
        for with in [0.0, 0.5, -0.1] {
            let units: Vec<(f64, f64)> = (0..300)
                .map(|_| {
                    let top = -uniform().ln();
                    (top, (2.0 + with * top + 0.2 * uniform()).max(0.5))
                })
                .collect();
            let (low, high) = expanded(&units).unwrap();
            let (drawn_low, drawn_high) = resampled(&units).unwrap();
            let width = drawn_high - drawn_low;
            assert!(
                (low - drawn_low).abs() < 0.06 * width,
                "{with}: {low} {drawn_low}"
            );
            assert!(
                (high - drawn_high).abs() < 0.06 * width,
                "{with}: {high} {drawn_high}"
            );
        }
    }

    #[test]
    fn a_mean_that_one_unit_rules_is_resampled() {
        // One of 1000 is 1000 times the others: skewness sqrt(1000) / sqrt(1000) = 1.
        let mut units = vec![(1.0, 1.0); 999];
        units.push((1000.0, 1.0));
        assert_eq!(expanded(&units), None);
        assert_eq!(interval_of_ratio(&units), resampled(&units));
        assert_eq!(expanded(&[(2.0, 1.0); 200]), Some((2.0, 2.0)));
        assert_eq!(expanded(&[(1.0, 0.0); 200]), None);
    }

    #[test]
    fn five_units_have_no_interval() {
        assert_eq!(interval_of_ratio(&[(1.0, 1.0); 5]), None);
        // Equal units leave no doubt.
        assert_eq!(interval_of_ratio(&[(2.0, 1.0); 6]), Some((2.0, 2.0)));
    }
}
