//! The generator of truths. The explanation and the engine have another, so that truth and draws share nothing.

/// A counter through the finaliser of MurmurHash3 (Appleby, 2011).
#[derive(Debug, Clone)]
pub(super) struct Chance(u64);

impl Chance {
    /// Streams of different seeds do not meet in 2^32 numbers.
    pub(super) fn new(seed: u64) -> Self {
        Self(seed << 32)
    }

    fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(1);
        let mut h = self.0;
        h = (h ^ (h >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
        h = (h ^ (h >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
        h ^ (h >> 33)
    }

    /// Uniform in 0..1, neither of them.
    #[expect(clippy::cast_precision_loss, reason = "53 bits are exact in an f64")]
    fn uniform(&mut self) -> f64 {
        ((self.bits() >> 12) as f64 + 0.5) / (1u64 << 52) as f64
    }

    pub(super) fn within(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.uniform()
    }

    /// Every ratio alike.
    pub(super) fn log_within(&mut self, low: f64, high: f64) -> f64 {
        low * (high / low).powf(self.uniform())
    }

    pub(super) fn happens(&mut self, share: f64) -> bool {
        self.uniform() < share
    }

    /// One of them, which must not be none.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "a handful, and a number in 0..1"
    )]
    pub(super) fn one_of<T: Copy>(&mut self, of: &[T]) -> T {
        of[(self.uniform() * of.len() as f64) as usize]
    }

    /// Normal with mean 0 and standard deviation 1: twelve uniform numbers less 6 have variance 12 / 12.
    pub(super) fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.uniform()).sum::<f64>() - 6.0
    }
}
