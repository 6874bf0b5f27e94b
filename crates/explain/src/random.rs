//! The fixed-seed generator behind every draw: the same inputs and seed always give the same intervals.

use stats::SplitMix;

/// Draws of distributions.
pub(crate) struct Random(SplitMix);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(SplitMix::new(seed))
    }

    /// Uniform in 0..1, never 1.
    #[expect(
        clippy::cast_precision_loss,
        reason = "53 bits fit a double's mantissa exactly"
    )]
    pub(crate) fn uniform(&mut self) -> f64 {
        (self.0.next() >> 11) as f64 * 2f64.powi(-53)
    }

    /// Normal with mean 0 and standard deviation 1 (Box and Muller, 1958; one of the pair is used).
    pub(crate) fn normal(&mut self) -> f64 {
        // 1 - u lies in 0..=1 without 0, whose logarithm has no value.
        let radius = (-2.0 * (1.0 - self.uniform()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.uniform()).cos()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_those_of_the_distributions() {
        let mut random = Random::new(1);
        let n = 40_000;
        let uniform: f64 = (0..n).map(|_| random.uniform()).sum::<f64>() / f64::from(n);
        // Standard error sqrt(1/12) / 200 = 0.0014; four of them are 0.006.
        assert!((uniform - 0.5).abs() < 0.006, "{uniform}");
        let draws: Vec<f64> = (0..n).map(|_| random.normal()).collect();
        let mean = draws.iter().sum::<f64>() / f64::from(n);
        let square = draws.iter().map(|z| z * z).sum::<f64>() / f64::from(n);
        // Standard errors 1 / 200 = 0.005 and sqrt(2) / 200 = 0.007; four of them are 0.02 and 0.03.
        assert!(
            mean.abs() < 0.02 && (square - 1.0).abs() < 0.03,
            "{mean} {square}"
        );
    }
}
