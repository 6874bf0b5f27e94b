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

/// A kernel without its arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KernelName {
    /// [`Kernel::Gate`].
    Gate,
    /// [`Kernel::Copy`].
    Copy,
    /// [`Kernel::Fill`].
    Fill,
    /// [`Kernel::Check`].
    Check,
    /// [`Kernel::Chase`].
    Chase,
    /// [`Kernel::Burn`].
    Burn,
    /// [`Kernel::Spin`].
    Spin,
}

/// Name in code, kernel, how many parameters it has.
const KERNELS: [(&str, KernelName, usize); 7] = [
    ("tplens_gate", KernelName::Gate, 3),
    ("tplens_copy", KernelName::Copy, 3),
    ("tplens_fill", KernelName::Fill, 4),
    ("tplens_check", KernelName::Check, 4),
    ("tplens_chase", KernelName::Chase, 3),
    ("tplens_burn", KernelName::Burn, 4),
    ("tplens_spin", KernelName::Spin, 1),
];

impl Kernel {
    /// The kernel that code calls so.
    #[must_use]
    pub fn named(name: &str) -> Option<KernelName> {
        let row = KERNELS.iter().find(|(known, ..)| *known == name)?;
        Some(row.1)
    }
}

impl KernelName {
    /// How many parameters it has: each is an address or number of 64 bits.
    #[must_use]
    pub fn parameters(self) -> usize {
        let row = KERNELS.iter().find(|(_, kernel, _)| *kernel == self);
        row.map_or(0, |(.., parameters)| *parameters)
    }

    /// The kernel with these arguments, in the order of its fields.
    ///
    /// # Errors
    /// [`Code::INVALID_VALUE`] where there are more or fewer than parameters.
    pub fn decode(self, arguments: &[u64]) -> Outcome<Kernel> {
        Ok(match (self, arguments) {
            (Self::Gate, &[flag, answer, timeout_ns]) => Kernel::Gate {
                flag,
                answer,
                timeout_ns,
            },
            (Self::Copy, &[to, from, vectors]) => Kernel::Copy { to, from, vectors },
            (Self::Fill, &[to, words, seed, complement]) => Kernel::Fill {
                to,
                words,
                seed,
                complement,
            },
            (Self::Check, &[data, words, seed, first_wrong]) => Kernel::Check {
                data,
                words,
                seed,
                first_wrong,
            },
            (Self::Chase, &[base, steps, end]) => Kernel::Chase { base, steps, end },
            (Self::Burn, &[items, rounds, seed, first_wrong]) => Kernel::Burn {
                items,
                rounds,
                seed,
                first_wrong,
            },
            (Self::Spin, &[duration_ns]) => Kernel::Spin { duration_ns },
            _ => return Err(Code::INVALID_VALUE.into()),
        })
    }
}
