//! Numbers that follow from a seed.

use boxfile::Figure;

/// SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
#[derive(Debug, Clone)]
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number from `low` to below `high`.
    pub(crate) fn real(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * ((self.next() >> 11) as f64 / (1_u64 << 53) as f64)
    }

    /// A whole number from `low` to `high`, both possible.
    pub(crate) fn whole(&mut self, low: usize, high: usize) -> usize {
        low + usize::try_from(self.next() % (high - low + 1) as u64).unwrap()
    }

    pub(crate) fn chance(&mut self, probability: f64) -> bool {
        self.real(0.0, 1.0) < probability
    }

    pub(crate) fn figure(&mut self, low: f64, high: f64) -> Figure {
        drawn(self.real(low, high))
    }
}

/// A figure of a drawn box.
pub(crate) fn drawn(value: f64) -> Figure {
    Figure::assumed(value, "drawn by a test")
}
