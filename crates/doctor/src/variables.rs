//! Variables that switch something off or mislead: which there are, when they count, and what they do.
//!
//! Only these are ever read, so that no secret gets into a finding.

mod table;

pub use table::ALL;

use crate::Verdict;

/// A variable that counts with some values.
#[derive(Debug, Clone, Copy)]
pub struct Known {
    /// The code whose page says what it does.
    pub code: &'static str,
    /// The names it has, one for each library.
    pub names: &'static [&'static str],
    /// With which values it counts.
    pub when: When,
    /// How much.
    pub verdict: Verdict,
    /// The PCI vendor of the only GPUs that it matters for; `None` where it is of no one vendor.
    pub vendor: Option<u16>,
}

/// With which values a variable counts.
#[derive(Debug, Clone, Copy)]
pub enum When {
    /// Any at all.
    Set,
    /// One of these.
    Is(&'static [&'static str]),
    /// One of these, written so.
    Exactly(&'static [&'static str]),
    /// Anything but one of these, written so.
    IsNot(&'static [&'static str]),
    /// A number below this one.
    Below(u32),
    /// This number and more.
    AtLeast(u32),
}

impl When {
    /// Whether a value counts.
    #[must_use]
    pub fn holds(self, value: &str) -> bool {
        match self {
            Self::Set => !value.is_empty(),
            Self::Is(values) => values.iter().any(|known| {
                known.eq_ignore_ascii_case(value)
                    || number(known).is_some_and(|of| number(value) == Some(of))
            }),
            Self::Exactly(values) => values.contains(&value),
            // A number stands for a word wherever any does.
            Self::IsNot(values) => {
                let is_number = values.contains(&"0") && number(value).is_some();
                !value.is_empty() && !values.contains(&value) && !is_number
            }
            Self::Below(limit) => value.parse().is_ok_and(|number: u32| number < limit),
            Self::AtLeast(least) => value
                .parse()
                .is_ok_and(|number: u64| number >= u64::from(least)),
        }
    }
}

/// The number that a value begins with as C's `strtol` with base 0 reads it, which NCCL uses: `0x2` and `02` are 2, and so is `2x`.
/// `None` where it begins with no digit.
pub(crate) fn number(value: &str) -> Option<u64> {
    let (digits, base) = match value.strip_prefix("0x").or(value.strip_prefix("0X")) {
        Some(rest) if rest.starts_with(|c: char| c.is_ascii_hexdigit()) => (rest, 16),
        _ if value.starts_with('0') => (value, 8),
        _ => (value, 10),
    };
    let end = digits.find(|c: char| !c.is_digit(base));
    let digits = &digits[..end.unwrap_or(digits.len())];
    (!digits.is_empty()).then(|| u64::from_str_radix(digits, base).unwrap_or(u64::MAX))
}

/// Names that rules look at by themselves.
const OTHERS: &[&str] = &[
    "CUDA_VISIBLE_DEVICES",
    "HIP_VISIBLE_DEVICES",
    "ROCR_VISIBLE_DEVICES",
    "MACA_VISIBLE_DEVICES",
    "CUDA_DEVICE_ORDER",
    "NCCL_IB_GID_INDEX",
    "NCCL_IB_HCA",
    "MCCL_P2P_LEVEL",
    "NCCL_P2P_LEVEL",
    "HSA_FORCE_FINE_GRAIN_PCIE",
    "HSA_NO_SCRATCH_RECLAIM",
    "NCCL_LAUNCH_ORDER_IMPLICIT",
];

/// Whether a variable is looked at; no other one may be given to the rules.
#[must_use]
pub fn is_known(name: &str) -> bool {
    OTHERS.contains(&name) || ALL.iter().any(|known| known.names.contains(&name))
}

#[cfg(test)]
mod tests {
    use super::When::{AtLeast, Below, Is, IsNot, Set};
    use super::*;

    #[test]
    fn values_count_as_the_table_says() {
        assert!(Is(&["1"]).holds("1") && !Is(&["1"]).holds("0"));
        assert!(Is(&["LOC"]).holds("loc"));
        assert!(Below(4).holds("3") && !Below(4).holds("4") && !Below(4).holds("many"));
        assert!(IsNot(&["SYS"]).holds("FOO") && !IsNot(&["SYS"]).holds("SYS"));
        assert!(!IsNot(&["SYS"]).holds(""));
        assert!(Set.holds("Simple") && !Set.holds(""));
        // As strtol reads them.
        assert!(Is(&["1"]).holds("01") && Is(&["1"]).holds("0x1") && !Is(&["1"]).holds("10"));
        assert!(!IsNot(&["SYS", "0"]).holds("0x2") && IsNot(&["SYS", "0"]).holds("x2"));
        let numbers = ["2", "0x2", "02", "2x", "10", "0", "08", "0x", "x", ""].map(number);
        let of = |number| Some(number);
        assert_eq!(
            numbers,
            [
                of(2),
                of(2),
                of(2),
                of(2),
                of(10),
                of(0),
                of(0),
                of(0),
                None,
                None
            ]
        );
        assert!(AtLeast(1 << 20).holds("1048576") && !AtLeast(1 << 20).holds("1048575"));
        // More than 32 bits hold.
        assert!(AtLeast(1 << 20).holds("8589934592") && !AtLeast(1 << 20).holds("1M"));
    }

    #[test]
    fn no_name_of_the_table_may_hold_a_secret() {
        for name in ALL.iter().flat_map(|known| known.names).chain(OTHERS) {
            assert!(!record::is_secret(name), "{name}");
        }
    }
}
