//! Percentiles, given only where the number of samples allows them.

use super::sorted;

/// The nearest-rank percentile, or `None` where fewer than two samples lie beyond it.
///
/// `fraction` is in 0..1, such as 0.99, which needs 2 / (1 - 0.99) = 200 samples.
#[must_use]
pub fn percentile(values: &[f64], fraction: f64) -> Option<f64> {
    #[expect(clippy::cast_precision_loss, reason = "sample counts are small")]
    let n = values.len() as f64;
    let beyond = n * (1.0 - fraction).min(fraction);
    // A hair below two, since 200 * (1 - 0.99) is 1.9999... in floating point.
    if beyond < 2.0 - 1e-9 {
        return None;
    }
    let rank = (fraction * n - 1e-9).ceil().max(1.0);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "1 <= rank <= n"
    )]
    let index = rank as usize - 1;
    Some(sorted(values)[index])
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
}
