//! Counts as numbers, and numbers as counts.

/// A count as a number.
#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
pub(crate) fn float(count: u64) -> f64 {
    count as f64
}

/// A number as a count; `None` of one below zero, or of more than is ever counted.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "zero or more, and below 2^53"
)]
pub(crate) fn counted(number: f64) -> Option<u64> {
    (0.0..9e15)
        .contains(&number)
        .then_some(number.round() as u64)
}
