//! The generator behind every bootstrap and every random order: the same seed always gives the same numbers.

/// The seed of every resampling.
pub(super) const SEED: u64 = 0x7470_6c65_6e73;

/// The splitmix64 generator (Steele, Lea and Flood, 2014).
#[derive(Debug)]
pub struct SplitMix(u64);

impl SplitMix {
    /// Begins at a seed; any is as good as another.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next 64 bits.
    #[expect(
        clippy::should_implement_trait,
        reason = "it never ends, and nothing iterates over it"
    )]
    pub fn next(&mut self) -> u64 {
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
    pub fn uniform(&mut self) -> f64 {
        (self.next() >> 11) as f64 * 2f64.powi(-53)
    }

    /// Normal with mean 0 and standard deviation 1 (Box and Muller, 1958; one of the pair is used).
    pub fn normal(&mut self) -> f64 {
        // 1 - u lies in 0..=1 without 0, whose logarithm has no value.
        let radius = (-2.0 * (1.0 - self.uniform()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.uniform()).cos()
    }

    /// An index below `len`, which must not be zero: the upper half of a product, which needs no division.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the product's upper half is below len"
    )]
    pub fn below(&mut self, len: usize) -> usize {
        ((u128::from(self.next()) * len as u128) >> 64) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_numbers_are_those_of_the_published_generator() {
        // Seed 1234567 as printed by the reference code in C (prng.di.unimi.it/splitmix64.c).
        let mut random = SplitMix::new(1_234_567);
        assert_eq!(random.next(), 6_457_827_717_110_365_317);
        assert_eq!(random.next(), 3_203_168_211_198_807_973);
    }

    #[test]
    fn indexes_reach_every_value_about_equally_often() {
        let mut random = SplitMix::new(SEED);
        let mut counts = [0u32; 7];
        (0..70_000).for_each(|_| counts[random.below(7)] += 1);
        // 70,000 / 7 = 10,000 each, standard deviation sqrt(70,000 * 1/7 * 6/7) = 93; five of them are 463.
        assert!(
            counts.iter().all(|count| count.abs_diff(10_000) < 463),
            "{counts:?}"
        );
    }

    #[test]
    fn moments_are_those_of_the_distributions() {
        let mut random = SplitMix::new(1);
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
