//! Numbers that follow from a seed.

/// xorshift64* (Vigna, An experimental exploration of Marsaglia's xorshift generators, 2016).
#[derive(Debug, Clone)]
pub(crate) struct Dice(u64);

impl Dice {
    /// Another series for each number of a seed.
    pub(crate) fn new(seed: u64, number: u64) -> Self {
        // Its state must not be 0; the first numbers of states that are near each other are near each other, too.
        let mut dice = Self((seed ^ number << 32) | 1);
        for _ in 0..16 {
            dice.next();
        }
        dice
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// A number from `low` to below `high`.
    pub(crate) fn real(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * ((self.next() >> 11) as f64 / (1_u64 << 53) as f64)
    }

    /// As [`Self::real`], each factor between the two being as likely as another.
    pub(crate) fn factor(&mut self, low: f64, high: f64) -> f64 {
        self.real(low.ln(), high.ln()).exp()
    }

    /// A whole number from `low` to `high`, both possible.
    pub(crate) fn whole(&mut self, low: u64, high: u64) -> u64 {
        low + self.next() % (high - low + 1)
    }

    pub(crate) fn chance(&mut self, probability: f64) -> bool {
        self.real(0.0, 1.0) < probability
    }

    pub(crate) fn one_of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[usize::try_from(self.whole(0, choices.len() as u64 - 1)).unwrap()]
    }
}
