//! Noise of a described box: what tests draw their samples from.

use stats::SplitMix;

/// Numbers that follow from a seed.
#[derive(Debug)]
pub(crate) struct Dice(SplitMix);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(SplitMix::new(
            seed.wrapping_mul(0x9e37_79b9).wrapping_add(1),
        ))
    }

    /// From 0 to below 1.
    #[expect(clippy::cast_precision_loss, reason = "53 bits")]
    fn uniform(&mut self) -> f64 {
        (self.0.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// A standard normal number (Box and Muller).
    pub(crate) fn normal(&mut self) -> f64 {
        let (a, b) = (1.0 - self.uniform(), self.uniform());
        (-2.0 * a.ln()).sqrt() * (std::f64::consts::TAU * b).cos()
    }

    /// What a duration is multiplied by: 1 with a coefficient of variation of 1%, cut at 3, and for one in twenty 15% more.
    fn duration(&mut self) -> f64 {
        let noise = 1.0 + 0.01 * self.normal().clamp(-3.0, 3.0);
        if self.uniform() < 0.05 {
            noise * 1.15
        } else {
            noise
        }
    }

    /// Samples of a rate.
    pub(crate) fn rates(&mut self, rate: f64, n: usize) -> Vec<f64> {
        (0..n).map(|_| rate / self.duration()).collect()
    }

    /// Samples of a time.
    pub(crate) fn times(&mut self, time: f64, n: usize) -> Vec<f64> {
        (0..n).map(|_| time * self.duration()).collect()
    }
}
