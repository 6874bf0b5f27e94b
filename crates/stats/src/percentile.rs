//! Percentiles, given only where the number of samples allows them.

use super::sorted;

/// The nearest-rank percentile, or `None` where fewer than two samples lie beyond it.
///
/// `fraction` is in 0..1, such as 0.99, which needs 2 / (1 - 0.99) = 200 samples.
#[must_use]
pub fn percentile(values: &[f64], fraction: f64) -> Option<f64> {
    if !is_enough(values.len(), fraction) {
        return None;
    }
    #[expect(clippy::cast_precision_loss, reason = "sample counts are small")]
    let n = values.len() as f64;
    let rank = (fraction * n - 1e-9).ceil().max(1.0);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "1 <= rank <= n"
    )]
    let index = rank as usize - 1;
    Some(sorted(values)[index])
}

/// The percentile of ascending values by linear interpolation, as numpy's default; `None` where fewer than two values lie
/// beyond it.
///
/// The position is `fraction * (n - 1)`; between two values the line through them is taken (Hyndman and Fan, 1996, type 7).
pub(crate) fn interpolated(ascending: &[f64], fraction: f64) -> Option<f64> {
    is_enough(ascending.len(), fraction).then(|| of_any(ascending, fraction))?
}

/// The same of any number of values, as numpy gives it: of few the 99th percentile is about the largest. `None` without values.
pub fn of_any(ascending: &[f64], fraction: f64) -> Option<f64> {
    #[expect(clippy::cast_precision_loss, reason = "sample counts are small")]
    let position = fraction * ascending.len().checked_sub(1)? as f64;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "0 <= position <= n - 1"
    )]
    let below = position.floor() as usize;
    let low = *ascending.get(below)?;
    let high = ascending.get(below + 1).copied().unwrap_or(low);
    Some(low + (high - low) * position.fract())
}

/// Whether two values or more lie beyond the percentile.
fn is_enough(n: usize, fraction: f64) -> bool {
    #[expect(clippy::cast_precision_loss, reason = "sample counts are small")]
    let beyond = n as f64 * (1.0 - fraction).min(fraction);
    // A hair below two, since 200 * (1 - 0.99) is 1.9999... in floating point.
    beyond >= 2.0 - 1e-9
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn p99_needs_two_hundred_samples() {
        let ramp: Vec<f64> = (1..=200).map(f64::from).collect();
        // Rank 0.99 * 200 = 198.
        assert_eq!(percentile(&ramp, 0.99), Some(198.0));
        assert_eq!(percentile(&ramp[..199], 0.99), None);
        // Rank 0.9 * 20 = 18.
        assert_eq!(percentile(&ramp[..20], 0.9), Some(18.0));
        assert_eq!(percentile(&ramp[..19], 0.9), None);
    }

    #[test]
    fn between_two_values_the_line_is_taken() {
        let ramp: Vec<f64> = (1..=200).map(f64::from).collect();
        // Position 0.99 * 199 = 197.01: 198 + 0.01 * (199 - 198) = 198.01.
        assert!((interpolated(&ramp, 0.99).unwrap() - 198.01).abs() < 1e-9);
        assert_eq!(interpolated(&ramp[..199], 0.99), None);
        // Position 0.9 * 19 = 17.1: 18 + 0.1 * (19 - 18) = 18.1.
        assert!((interpolated(&ramp[..20], 0.9).unwrap() - 18.1).abs() < 1e-9);
    }
}
