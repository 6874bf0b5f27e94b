//! The percentile bootstrap of a ratio of sums over independent units: a mean over requests, or over the gaps of requests.

use super::median::MIN_FOR_INTERVAL;
use super::random::{SEED, SplitMix};
use super::sorted;

/// How often the units are resampled.
const RESAMPLES: usize = 2000;

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

/// How many draws lie beyond each end of the interval.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a fraction of 2000 draws"
)]
fn beyond(n: usize) -> usize {
    let n = n as f64;
    (RESAMPLES as f64 * normal_tail(t_quantile(n - 1.0) * (n / (n - 1.0)).sqrt())) as usize
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
    fn five_units_have_no_interval() {
        assert_eq!(interval_of_ratio(&[(1.0, 1.0); 5]), None);
        // Equal units leave no doubt.
        assert_eq!(interval_of_ratio(&[(2.0, 1.0); 6]), Some((2.0, 2.0)));
    }
}
