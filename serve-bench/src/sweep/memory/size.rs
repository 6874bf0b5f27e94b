//! Amounts of memory as people write them.

/// Units and their bytes.
const UNITS: [(&str, f64); 6] = [
    ("KiB", 1024.0),
    ("MiB", 1_048_576.0),
    ("GiB", 1_073_741_824.0),
    ("KB", 1e3),
    ("MB", 1e6),
    ("GB", 1e9),
];

/// Bytes of an amount such as `24 GiB`.
///
/// # Errors
/// In words: it is none, or has no unit.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "checked to be a count below 2^53"
)]
pub(super) fn bytes(text: &str) -> Result<u64, String> {
    let wrong = || format!("`{text}` is no amount of memory such as 24 GiB or 32 GB");
    let (number, unit) = text
        .trim()
        .find(|c: char| c.is_ascii_alphabetic())
        .map(|at| text.trim().split_at(at))
        .ok_or_else(wrong)?;
    let (_, each) = UNITS
        .iter()
        .find(|(name, _)| *name == unit)
        .ok_or_else(wrong)?;
    let number: f64 = number.trim().parse().map_err(|_| wrong())?;
    let bytes = number * each;
    if (0.0..9e15).contains(&bytes) {
        Ok(bytes as u64)
    } else {
        Err(wrong())
    }
}

/// An amount in GiB, two decimals.
#[expect(clippy::cast_precision_loss, reason = "shown with two decimals")]
pub(super) fn gib(bytes: u64) -> String {
    format!("{:.2} GiB", bytes as f64 / 1_073_741_824.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_have_units() {
        assert_eq!(bytes("24 GiB"), Ok(25_769_803_776));
        assert_eq!(bytes("32GB"), Ok(32_000_000_000));
        assert_eq!(bytes("1.5 MiB"), Ok(1_572_864));
        for wrong in ["24", "GiB", "-1 GiB", "24 gib", "", "1e30 GB"] {
            assert!(bytes(wrong).is_err(), "{wrong}");
        }
    }
}
