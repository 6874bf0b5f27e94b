//! Cells of tables.

/// What stands where nothing is known.
pub(super) const ABSENT: &str = "—";

/// A cell.
pub(super) fn shown<T: ToString>(value: Option<T>) -> String {
    value.map_or_else(|| ABSENT.to_owned(), |value| value.to_string())
}
