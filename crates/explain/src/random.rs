//! The fixed-seed generator behind every draw: the same inputs and seed always give the same intervals.

/// The splitmix64 generator (Steele, Lea and Flood, 2014).
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Uniform in 0..1, never 1.
    #[expect(
        clippy::cast_precision_loss,
        reason = "53 bits fit a double's mantissa exactly"
    )]
    pub(crate) fn uniform(&mut self) -> f64 {
        (self.bits() >> 11) as f64 * 2f64.powi(-53)
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
    fn the_first_number_is_that_of_the_published_generator() {
        // Seed 1234567 as printed by the reference code in C (prng.di.unimi.it/splitmix64.c).
        assert_eq!(Random::new(1_234_567).bits(), 6_457_827_717_110_365_317);
    }

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
