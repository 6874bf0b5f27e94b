//! The seeded generator behind a profile's noise. Not for anything that must be unpredictable.

/// Draws the factors by which steps take longer or shorter.
#[derive(Debug, Clone)]
pub(crate) struct Noise {
    state: u64,
    cv: f64,
}

impl Noise {
    pub(crate) fn new(cv: f64, seed: u64) -> Self {
        Self { state: seed, cv }
    }

    /// The factor of the next step: 1 + cv z, z normal and cut at 3; exactly 1 without noise.
    pub(crate) fn factor(&mut self) -> f64 {
        if self.cv == 0.0 {
            return 1.0;
        }
        loop {
            // Box-Muller; 1 - uniform is above 0.
            let radius = (-2.0 * (1.0 - self.uniform()).ln()).sqrt();
            let normal = radius * (std::f64::consts::TAU * self.uniform()).cos();
            if normal.abs() <= 3.0 {
                return 1.0 + self.cv * normal;
            }
        }
    }

    /// Uniform in 0..1 from splitmix64 (Steele, Lea and Flood: Fast splittable pseudorandom number generators, 2014).
    #[expect(clippy::cast_precision_loss, reason = "53 bits are exact in an f64")]
    fn uniform(&mut self) -> f64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^= z >> 31;
        (z >> 11) as f64 / (1_u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn factors_have_the_spread_that_was_asked_for_and_repeat() {
        let draw = |seed| {
            let mut noise = Noise::new(0.02, seed);
            (0..20_000).map(|_| noise.factor()).collect::<Vec<f64>>()
        };
        let factors = draw(7);
        let mean = factors.iter().sum::<f64>() / 20_000.0;
        let variance = factors.iter().map(|f| (f - mean).powi(2)).sum::<f64>() / 20_000.0;
        // Standard error of the mean: 0.02 / sqrt(20000) = 0.00014; of the spread about 0.0001. The cut at 3 takes 1.3% off
        // the spread.
        assert!((mean - 1.0).abs() < 0.001, "{mean}");
        assert!(
            (variance.sqrt() - 0.02).abs() < 0.001,
            "{}",
            variance.sqrt()
        );
        // Cut at 3: 1 - 3 x 0.02 .. 1 + 3 x 0.02.
        assert!(factors.iter().all(|factor| (0.94..=1.06).contains(factor)));
        assert_eq!(factors, draw(7));
        assert_ne!(factors, draw(8));
    }

    #[test]
    fn without_noise_the_factor_is_one() {
        assert_eq!(Noise::new(0.0, 7).factor().to_bits(), 1.0_f64.to_bits());
    }
}
