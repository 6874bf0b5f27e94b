//! Byte counts as people type and read them, and bandwidth from bytes and time.
//!
//! Sizes are binary (`4K` is 4096 bytes, as in the field's tools); bandwidth is decimal GB/s (1e9).

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// A number of bytes; prints as KiB, MiB or GiB.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ByteCount(pub u64);

/// Why a size or a list of sizes was refused.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum SizeError {
    /// The text is not a number with an optional K, M or G.
    #[error(
        "`{0}` is not a size; write a whole number with an optional K, M or G, such as 64M, a list such as 4K,1M or a range such as 4K..1G"
    )]
    NotASize(String),
    /// KB, MB and GB mean powers of 1000 to some and of 1024 to others.
    #[error("`{0}` can be read in two ways; write K, M or G (or KiB, MiB, GiB) for powers of 1024")]
    Decimal(String),
    /// A size of no bytes cannot be measured.
    #[error("a size of 0 bytes cannot be measured; the smallest is 1")]
    Zero,
    /// The number does not fit.
    #[error("`{0}` is larger than 2^63 bytes")]
    TooLarge(String),
    /// A range whose end lies before its start.
    #[error("`{0}` ends before it starts; write the smaller size first, such as 4K..1G")]
    Backwards(String),
    /// A list without entries.
    #[error("an empty list of sizes; write sizes such as 64M, 4K,1M or 4K..1G")]
    Empty,
}

impl FromStr for ByteCount {
    type Err = SizeError;

    fn from_str(text: &str) -> Result<Self, SizeError> {
        let trimmed = text.trim();
        let lower = trimmed.to_ascii_lowercase();
        let digits = lower.trim_end_matches(|c: char| c.is_ascii_alphabetic());
        let shift = match &lower[digits.len()..] {
            "" | "b" => 0,
            "k" | "kib" => 10,
            "m" | "mib" => 20,
            "g" | "gib" => 30,
            "kb" | "mb" | "gb" => return Err(SizeError::Decimal(trimmed.to_owned())),
            _ => return Err(SizeError::NotASize(trimmed.to_owned())),
        };
        if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
            return Err(SizeError::NotASize(trimmed.to_owned()));
        }
        let too_large = || SizeError::TooLarge(trimmed.to_owned());
        let number: u64 = digits.parse().map_err(|_| too_large())?;
        let bytes = number
            .checked_mul(1 << shift)
            .filter(|b| *b < 1 << 63)
            .ok_or_else(too_large)?;
        if bytes == 0 {
            Err(SizeError::Zero)
        } else {
            Ok(Self(bytes))
        }
    }
}

impl ByteCount {
    /// As `--sizes` takes it: `64M`, or bytes where no unit divides them.
    #[must_use]
    pub fn short(self) -> String {
        const UNITS: [(u64, &str); 3] = [(1 << 30, "G"), (1 << 20, "M"), (1 << 10, "K")];
        let unit = UNITS
            .iter()
            .find(|(size, _)| self.0 >= *size && self.0.is_multiple_of(*size));
        unit.map_or_else(
            || self.0.to_string(),
            |(size, unit)| format!("{}{unit}", self.0 / size),
        )
    }
}

impl fmt::Display for ByteCount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [(u64, &str); 3] = [(1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
        let text = match UNITS.iter().find(|(size, _)| self.0 >= *size) {
            None => format!("{} B", self.0),
            Some((size, unit)) if self.0.is_multiple_of(*size) => {
                format!("{} {unit}", self.0 / size)
            }
            #[expect(clippy::cast_precision_loss, reason = "two decimals are shown")]
            Some((size, unit)) => format!("{:.2} {unit}", self.0 as f64 / *size as f64),
        };
        f.pad(&text)
    }
}

/// The sizes that a `--sizes` argument names: `64M`, `4K,1M`, or `4K..1G` in powers of two from the start.
///
/// # Errors
/// Every part must be a size above zero, and a range must not end before it starts.
pub fn parse_sizes(text: &str) -> Result<Vec<ByteCount>, SizeError> {
    let mut sizes = Vec::new();
    for part in text
        .split(',')
        .map(str::trim)
        .filter(|part| !part.is_empty())
    {
        if let Some((from, to)) = part.split_once("..") {
            let (from, to): (ByteCount, ByteCount) = (from.parse()?, to.parse()?);
            if to < from {
                return Err(SizeError::Backwards(part.to_owned()));
            }
            let doubled = std::iter::successors(Some(from.0), |bytes| bytes.checked_mul(2));
            sizes.extend(doubled.take_while(|bytes| *bytes <= to.0).map(ByteCount));
        } else {
            sizes.push(part.parse()?);
        }
    }
    sizes.sort_unstable();
    sizes.dedup();
    if sizes.is_empty() {
        Err(SizeError::Empty)
    } else {
        Ok(sizes)
    }
}

/// Bandwidth in decimal GB/s: bytes over nanoseconds.
#[must_use]
#[expect(
    clippy::cast_precision_loss,
    reason = "2^53 bytes are exact, and more are not copied in one sample"
)]
pub fn gb_per_s(bytes: u64, nanoseconds: f64) -> f64 {
    bytes as f64 / nanoseconds
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sizes(text: &str) -> Vec<u64> {
        parse_sizes(text)
            .unwrap()
            .into_iter()
            .map(|b| b.0)
            .collect()
    }

    #[test]
    fn sizes_are_binary_and_ranges_double() {
        // 4K = 4 * 1024 = 4096; doubled twice 16384.
        assert_eq!(sizes("4K..16K"), [4096, 8192, 16384]);
        assert_eq!(sizes("1M,4k"), [4096, 1 << 20]);
        // 3 doubles to 6 and 12; 24 lies above 20.
        assert_eq!(sizes("3..20"), [3, 6, 12]);
    }

    #[test]
    fn bad_sizes_name_themselves() {
        assert_eq!(parse_sizes("0"), Err(SizeError::Zero));
        assert_eq!(parse_sizes("4X"), Err(SizeError::NotASize("4X".to_owned())));
        assert_eq!(parse_sizes("-1"), Err(SizeError::NotASize("-1".to_owned())));
        assert_eq!(parse_sizes(""), Err(SizeError::Empty));
        assert_eq!(
            parse_sizes("1G..1K"),
            Err(SizeError::Backwards("1G..1K".to_owned()))
        );
        assert!(matches!(
            parse_sizes("99999999999G"),
            Err(SizeError::TooLarge(_))
        ));
    }

    #[test]
    fn sizes_print_in_binary_units() {
        assert_eq!(ByteCount(64 << 20).to_string(), "64 MiB");
        assert_eq!(ByteCount(1536).to_string(), "1.50 KiB");
        assert_eq!(ByteCount(16).to_string(), "16 B");
    }

    #[test]
    fn one_gigabyte_in_a_second_is_one_gb_per_s() {
        // 1e9 bytes / 1e9 ns = 1 byte per ns = 1 GB/s.
        assert!((gb_per_s(1_000_000_000, 1e9) - 1.0).abs() < 1e-12);
    }
}
