//! Quantiles of Student's t distribution, for intervals of few launches.

/// The 95% quantile of the standard normal distribution: half of a 90% interval.
pub(super) const Z90: f64 = 1.644_854;
/// Its 97.5% quantile: half of a 95% interval.
pub(super) const Z95: f64 = 1.959_964;
/// Its 99.5% quantile: half of a 99% interval.
pub(super) const Z99: f64 = 2.575_829;

/// The quantile of Student's t distribution that belongs to a normal quantile `z` (Abramowitz and Stegun, 26.7.5). At the 95% and
/// 97.5% points it is within 1% from 2 degrees of freedom on, which is what one arm of three launches has.
pub(super) fn t(z: f64, degrees: f64) -> f64 {
    let n = degrees.max(1.0);
    let odd = |k: i32| z.powi(k);
    let first = (odd(3) + z) / 4.0;
    let second = (5.0 * odd(5) + 16.0 * odd(3) + 3.0 * z) / 96.0;
    let third = (3.0 * odd(7) + 19.0 * odd(5) + 17.0 * odd(3) - 15.0 * z) / 384.0;
    let fourth =
        (79.0 * odd(9) + 776.0 * odd(7) + 1482.0 * odd(5) - 1920.0 * odd(3) - 945.0 * z) / 92_160.0;
    z + first / n + second / n.powi(2) + third / n.powi(3) + fourth / n.powi(4)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_the_tables() {
        // Table of the t distribution: 95%, 97.5% and 99.5% points.
        for (z, degrees, is) in [
            (Z90, 2.0, 2.920),
            (Z95, 2.0, 4.303),
            (Z90, 4.0, 2.132),
            (Z95, 4.0, 2.776),
            (Z95, 8.0, 2.306),
            (Z90, 20.0, 1.725),
            (Z95, 20.0, 2.086),
            (Z99, 8.0, 3.355),
        ] {
            let got = t(z, degrees);
            assert!((got / is - 1.0).abs() < 0.01, "{z} {degrees}: {got}");
        }
    }
}
