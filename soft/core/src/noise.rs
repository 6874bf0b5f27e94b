//! The seeded generator behind a box's noise. Not for anything that must be unpredictable.

use boxfile::Noise;

/// Draws the factors by which copies and collectives take longer or shorter.
pub(crate) struct NoiseSource {
    state: u64,
    noise: Option<Noise>,
}

impl NoiseSource {
    pub(crate) fn new(noise: Option<&Noise>) -> Self {
        Self {
            state: noise.map_or(0, |noise| noise.seed),
            noise: noise.cloned(),
        }
    }

    /// The factor of the next copy; 1 on a box without noise.
    pub(crate) fn factor(&mut self) -> f64 {
        let Some(noise) = self.noise.clone() else {
            return 1.0;
        };
        let normal = loop {
            // Box-Muller; 1 - uniform is above 0.
            let radius = (-2.0 * (1.0 - self.uniform()).ln()).sqrt();
            let normal = radius * (std::f64::consts::TAU * self.uniform()).cos();
            if normal.abs() <= 3.0 {
                break normal;
            }
        };
        let slow = if self.uniform() < noise.slow_fraction {
            1.0 + noise.slow_extra
        } else {
            1.0
        };
        (1.0 + noise.cv * normal) * slow
    }

    /// Uniform in 0..1 from splitmix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014).
    fn uniform(&mut self) -> f64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^= mixed >> 31;
        (mixed >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// The noise factor of the numbered call of a collective library: the same in every process of the box, whatever else it did.
#[must_use]
pub fn call_factor(noise: Option<&Noise>, call: u64) -> f64 {
    // Multiplying by an odd number gives every call a seed of its own; the offset keeps them away from the copies' one.
    let shift = (call + 1).wrapping_mul(0xd134_2543_de82_ef95);
    let seeded = noise.map(|noise| Noise {
        seed: noise.seed.wrapping_add(shift),
        ..noise.clone()
    });
    NoiseSource::new(seeded.as_ref()).factor()
}

/// The seed of a stream of noise by its name: the same for the same name, and another one for another.
pub(crate) fn of_stream(seed: u64, name: &[u8]) -> u64 {
    // FNV-1a (Fowler, Noll, Vo).
    let hash = name.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    seed ^ hash
}

#[cfg(test)]
mod tests {
    use super::{NoiseSource, call_factor, of_stream};
    use boxfile::Noise;

    #[test]
    fn factors_have_the_mean_and_spread_that_the_box_states() {
        let noise = Noise {
            cv: 0.02,
            slow_fraction: 0.0,
            slow_extra: 0.0,
            seed: 7,
        };
        let mut source = NoiseSource::new(Some(&noise));
        let factors: Vec<f64> = (0..20_000).map(|_| source.factor()).collect();
        let mean = factors.iter().sum::<f64>() / 20_000.0;
        let spread = (factors
            .iter()
            .map(|factor| (factor - mean).powi(2))
            .sum::<f64>()
            / 20_000.0)
            .sqrt();
        // Standard error of the mean: 0.02 / sqrt(20000) = 0.00014; of the spread about 0.0001.
        assert!(
            (mean - 1.0).abs() < 0.001 && (spread - 0.02).abs() < 0.001,
            "{mean} {spread}"
        );
        // Cut at 3: 1 - 3 x 0.02 .. 1 + 3 x 0.02.
        assert!(factors.iter().all(|factor| (0.94..=1.06).contains(factor)));
    }

    #[test]
    fn slow_copies_come_as_often_as_the_box_states_and_repeat_with_the_seed() {
        let noise = Noise {
            cv: 0.0,
            slow_fraction: 0.1,
            slow_extra: 0.5,
            seed: 1,
        };
        let draw = || {
            let mut source = NoiseSource::new(Some(&noise));
            (0..10_000).map(|_| source.factor()).collect::<Vec<f64>>()
        };
        let slow = draw().iter().filter(|factor| **factor == 1.5).count();
        // 1000 expected, standard deviation sqrt(10000 x 0.1 x 0.9) = 30; five of them.
        assert!((850..=1150).contains(&slow), "{slow}");
        assert_eq!(draw(), draw());
        let of_calls = (0..10_000).map(|call| call_factor(Some(&noise), call));
        let slow = of_calls.filter(|factor| *factor == 1.5).count();
        assert!((850..=1150).contains(&slow), "{slow}");
        assert_eq!(call_factor(None, 7), 1.0);
        assert_eq!(NoiseSource::new(None).factor(), 1.0);
    }

    #[test]
    fn another_stream_of_a_box_has_other_noise_and_the_same_one_the_same() {
        // FNV-1a of "a" is af63dc4c8601ec8c (the authors' test vectors).
        assert_eq!(of_stream(0, b"a"), 0xaf63_dc4c_8601_ec8c);
        let first = |name: &[u8]| {
            let noise = Noise {
                cv: 0.02,
                slow_fraction: 0.0,
                slow_extra: 0.0,
                seed: of_stream(7, name),
            };
            NoiseSource::new(Some(&noise)).factor()
        };
        assert_eq!(first(b"peer-links"), first(b"peer-links"));
        assert_ne!(first(b"peer-links"), first(b"peer-links-again-1"));
    }
}
