//! Quantiles of Student's t and of Fisher's F distribution, for intervals of few launches and for arms off their line.

/// The 95% quantile of the standard normal distribution: half of a 90% interval.
pub(super) const Z90: f64 = 1.644_854;
/// Its 97.5% quantile: half of a 95% interval.
pub(super) const Z95: f64 = 1.959_964;
/// Its 99.5% quantile: half of a 99% interval.
pub(super) const Z99: f64 = 2.575_829;

/// The 99% quantile of the standard normal distribution, on one side.
const Z99_ONE_SIDED: f64 = 2.326_348;

/// The 99% point of Fisher's F for so many degrees of freedom above and below (Paulson, Ann. Math. Stat. 13, 233, 1942: the cube root
/// of F is nearly normal). It is within 3% from 6 degrees below on, which is what three arms of three launches have.
pub(super) fn f99(above: f64, below: f64) -> f64 {
    let (a, b) = (2.0 / (9.0 * above.max(1.0)), 2.0 / (9.0 * below.max(3.0)));
    // (1 - b) g - (1 - a) = z sqrt(b g^2 + a), for the cube root g of F.
    let z2 = Z99_ONE_SIDED.powi(2);
    let square = (1.0 - b).powi(2) - z2 * b;
    let half = (1.0 - a) * (1.0 - b);
    let rest = (1.0 - a).powi(2) - z2 * a;
    let root = (half + (half.powi(2) - square * rest).sqrt()) / square;
    root.powi(3)
}

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
    fn the_points_of_f_are_those_of_the_tables() {
        // Table of the F distribution, 99% points.
        for (above, below, is) in [
            (1.0, 6.0, 13.745),
            (1.0, 12.0, 9.330),
            (2.0, 6.0, 10.925),
            (3.0, 8.0, 7.591),
            (3.0, 20.0, 4.938),
            (5.0, 30.0, 3.699),
        ] {
            let got = f99(above, below);
            assert!((got / is - 1.0).abs() < 0.03, "{above} {below}: {got}");
        }
    }

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
