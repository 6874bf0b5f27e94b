//! The bytes that are sent and looked for: they depend on a seed and on the position, so that data that
//! was dropped, shifted or taken from another pair is seen.
//!
//! The word at index i is a multiply-xorshift of i and the seed, so no period shorter than the buffer hides a shift.

/// A pattern for one pair of ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pattern {
    seed: u64,
}

impl Pattern {
    /// The pattern of a source, a destination and a size.
    #[must_use]
    pub fn of(source: u64, destination: u64, bytes: u64) -> Self {
        let mixed = (source + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15)
            ^ (destination + 1).wrapping_mul(0xc2b2_ae3d_27d4_eb4f)
            ^ bytes.wrapping_mul(0x1656_67b1_9e37_79f9);
        Self {
            seed: mixed ^ (mixed >> 29),
        }
    }

    /// The number that it follows from, for a kernel that writes or compares it.
    #[must_use]
    pub fn seed(self) -> u64 {
        self.seed
    }

    /// A pattern that no byte of this one equals: what a destination holds before a copy.
    #[must_use]
    pub fn poison(self) -> Poison {
        Poison(self)
    }

    fn word(self, index: u64) -> u64 {
        let mixed = (index ^ self.seed).wrapping_mul(0xd6e8_feb8_6659_fd93);
        mixed ^ (mixed >> 32)
    }

    /// Writes the pattern.
    pub fn fill(self, bytes: &mut [u8]) {
        write(bytes, |index| self.word(index));
    }

    /// The first byte that differs from the pattern: its offset, what is there, and what should be.
    #[must_use]
    pub fn first_difference(self, bytes: &[u8]) -> Option<Difference> {
        bytes.chunks(8).zip(0u64..).find_map(|(chunk, index)| {
            let sent = self.word(index).to_le_bytes();
            if *chunk == sent {
                return None;
            }
            let mut both = chunk.iter().zip(sent);
            let at = both.position(|(found, expected)| *found != expected)?;
            Some(Difference {
                offset: usize::try_from(index).ok()? * 8 + at,
                found: chunk[at],
                expected: sent[at],
            })
        })
    }
}

/// The complement of a pattern.
#[derive(Debug, Clone, Copy)]
pub struct Poison(Pattern);

impl Poison {
    /// Writes it.
    pub fn fill(self, bytes: &mut [u8]) {
        write(bytes, |index| !self.0.word(index));
    }
}

fn write(bytes: &mut [u8], word: impl Fn(u64) -> u64) {
    let last = (bytes.len() / 8) as u64;
    let mut chunks = bytes.chunks_exact_mut(8);
    for (index, chunk) in (0u64..).zip(&mut chunks) {
        chunk.copy_from_slice(&word(index).to_le_bytes());
    }
    let tail = chunks.into_remainder();
    let len = tail.len();
    tail.copy_from_slice(&word(last).to_le_bytes()[..len]);
}

/// Where delivered data differs from what was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Difference {
    /// Offset of the first wrong byte.
    pub offset: usize,
    /// The byte that is there.
    pub found: u8,
    /// The byte that should be.
    pub expected: u8,
}

impl std::fmt::Display for Difference {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "byte {} is {:#04x}, sent was {:#04x}",
            self.offset, self.found, self.expected
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filled_buffer_of_any_length_has_no_difference() {
        for len in [1, 7, 8, 9, 4096, 4099] {
            let mut bytes = vec![0; len];
            Pattern::of(0, 1, 64).fill(&mut bytes);
            assert_eq!(
                Pattern::of(0, 1, 64).first_difference(&bytes),
                None,
                "{len}"
            );
        }
    }

    #[test]
    fn one_changed_byte_is_found_where_it_is() {
        for at in [0, 13, 4098] {
            let mut bytes = vec![0; 4099];
            Pattern::of(0, 1, 64).fill(&mut bytes);
            bytes[at] ^= 0x10;
            let difference = Pattern::of(0, 1, 64).first_difference(&bytes).unwrap();
            assert_eq!(
                (difference.offset, difference.found ^ difference.expected),
                (at, 0x10)
            );
        }
    }
}
