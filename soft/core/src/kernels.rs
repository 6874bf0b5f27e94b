//! The kernels that a simulated device knows. Which code holds them, and how a caller passes their parameters, is the soft
//! libraries' matter; launching them is in `launches`, what they do to memory in `words`.

use crate::{Code, Outcome};

/// A kernel with its arguments. Places are device addresses, all else are numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kernel {
    /// Waits until a word of 4 bytes is not 0; after `timeout_ns` it gives up and writes 1 into another.
    Gate {
        /// The word that it waits for.
        flag: u64,
        /// The word that it answers in.
        answer: u64,
        /// How long it waits at most, nanoseconds.
        timeout_ns: u64,
    },
    /// Copies words of 16 bytes.
    Copy {
        /// Where they go.
        to: u64,
        /// Where they are.
        from: u64,
        /// How many.
        vectors: u64,
    },
    /// Writes a pattern of words of 8 bytes.
    Fill {
        /// Where it goes.
        to: u64,
        /// How many words.
        words: u64,
        /// The pattern's seed.
        seed: u64,
        /// Not 0: all bits of every word are inverted.
        complement: u64,
    },
    /// Compares with that pattern.
    Check {
        /// What is compared.
        data: u64,
        /// How many words.
        words: u64,
        /// The pattern's seed.
        seed: u64,
        /// The word of 8 bytes that is lowered to the index of the first word that differs.
        first_wrong: u64,
    },
    /// Follows a chain of offsets.
    Chase {
        /// Where the chain lies.
        base: u64,
        /// How many offsets are followed.
        steps: u64,
        /// The word of 8 bytes that gets the last one.
        end: u64,
    },
    /// Multiplies and adds in registers: 256 multiply-adds a round of each item.
    Burn {
        /// How many items.
        items: u64,
        /// How many rounds.
        rounds: u64,
        /// What their numbers follow from.
        seed: u64,
        /// The word of 8 bytes that is lowered to the index of the first item with a wrong sum.
        first_wrong: u64,
    },
    /// Takes time and touches no memory.
    Spin {
        /// How long, nanoseconds.
        duration_ns: u64,
    },
}

/// Name in code, and how many parameters of 64 bits, addresses or numbers, each kernel has.
const KERNELS: [(&str, usize); 7] = [
    ("tplens_gate", 3),
    ("tplens_copy", 3),
    ("tplens_fill", 4),
    ("tplens_check", 4),
    ("tplens_chase", 3),
    ("tplens_burn", 4),
    ("tplens_spin", 1),
];

impl Kernel {
    /// How many parameters the kernel of this name has; `None` where there is none.
    #[must_use]
    pub fn parameters(name: &str) -> Option<usize> {
        let row = KERNELS.iter().find(|(known, _)| *known == name)?;
        Some(row.1)
    }

    /// The kernel of this name with these arguments, in the order of its fields.
    ///
    /// # Errors
    /// [`Code::INVALID_VALUE`] where there is none, and where there are more or fewer than its parameters.
    pub fn decode(name: &str, arguments: &[u64]) -> Outcome<Self> {
        Ok(match (name, arguments) {
            ("tplens_gate", &[flag, answer, timeout_ns]) => Self::Gate {
                flag,
                answer,
                timeout_ns,
            },
            ("tplens_copy", &[to, from, vectors]) => Self::Copy { to, from, vectors },
            ("tplens_fill", &[to, words, seed, complement]) => Self::Fill {
                to,
                words,
                seed,
                complement,
            },
            ("tplens_check", &[data, words, seed, first_wrong]) => Self::Check {
                data,
                words,
                seed,
                first_wrong,
            },
            ("tplens_chase", &[base, steps, end]) => Self::Chase { base, steps, end },
            ("tplens_burn", &[items, rounds, seed, first_wrong]) => Self::Burn {
                items,
                rounds,
                seed,
                first_wrong,
            },
            ("tplens_spin", &[duration_ns]) => Self::Spin { duration_ns },
            _ => return Err(Code::INVALID_VALUE.into()),
        })
    }
}
