//! The kernels that a simulated device knows. Which code holds them, and how a caller passes their parameters, is the soft
//! libraries' matter; launching them is in `launches`, what they do to memory in `words`.

use crate::{Code, Outcome};

/// A kernel with its arguments, in the order of its parameters. Places are device addresses, all else are numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kernel {
    /// Waits until a word of 4 bytes, at the first place, is not 0; after the nanoseconds it gives up and writes 1 into the word at the
    /// second place.
    Gate(u64, u64, u64),
    /// Copies words of 16 bytes: to a place, from another, so many.
    Copy(u64, u64, u64),
    /// Writes a pattern of words of 8 bytes: to a place, so many, of a seed; where the last is not 0 all bits are inverted.
    Fill(u64, u64, u64, u64),
    /// Compares words at a place, so many, with the pattern of a seed, and lowers the word of 8 bytes at the last place to the index of
    /// the first that differs.
    Check(u64, u64, u64, u64),
    /// Follows a chain of offsets that lies at a place, so many steps, and writes the last into the word of 8 bytes at another.
    Chase(u64, u64, u64),
    /// Multiplies and adds in registers: of so many items so many rounds of 256 multiply-adds, on numbers of a seed; lowers the word of 8
    /// bytes at the last place to the index of the first item with a wrong sum.
    Burn(u64, u64, u64, u64),
    /// Takes so many nanoseconds and touches no memory.
    Spin(u64),
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

    /// The kernel of this name with these arguments.
    ///
    /// # Errors
    /// [`Code::INVALID_VALUE`] where there is none, and where there are more or fewer than its parameters.
    pub fn decode(name: &str, arguments: &[u64]) -> Outcome<Self> {
        Ok(match (name, arguments) {
            ("tplens_gate", &[a, b, c]) => Self::Gate(a, b, c),
            ("tplens_copy", &[a, b, c]) => Self::Copy(a, b, c),
            ("tplens_fill", &[a, b, c, d]) => Self::Fill(a, b, c, d),
            ("tplens_check", &[a, b, c, d]) => Self::Check(a, b, c, d),
            ("tplens_chase", &[a, b, c]) => Self::Chase(a, b, c),
            ("tplens_burn", &[a, b, c, d]) => Self::Burn(a, b, c, d),
            ("tplens_spin", &[a]) => Self::Spin(a),
            _ => return Err(Code::INVALID_VALUE.into()),
        })
    }
}
