//! Numbers in cells of serving tables.

use stats::Interval;

/// A dash for what is absent.
pub(super) const ABSENT: &str = "—";

/// Two decimals, or three significant digits for small values; no decimals from 10,000 on.
#[must_use]
pub fn significant(value: f64) -> String {
    match value.abs() {
        v if v >= 9999.5 => format!("{value:.0}"),
        v if v >= 99.95 => format!("{value:.1}"),
        v if v >= 0.995 || v == 0.0 => format!("{value:.2}"),
        v if v >= 0.0995 => format!("{value:.3}"),
        v if v >= 0.00995 => format!("{value:.4}"),
        _ => format!("{value:.2e}"),
    }
}

/// A number, or a dash.
#[must_use]
pub fn maybe(value: Option<f64>) -> String {
    value.map_or_else(|| ABSENT.to_owned(), significant)
}

/// A count, or a dash.
pub(super) fn count(value: Option<u64>) -> String {
    value.map_or_else(|| ABSENT.to_owned(), |value| value.to_string())
}

/// `12.3 ms`.
#[must_use]
pub fn ms(value: f64) -> String {
    format!("{} ms", significant(value))
}

/// `11.9-12.8`, or a dash.
#[must_use]
pub fn within(interval: Option<Interval>) -> String {
    interval.map_or_else(
        || ABSENT.to_owned(),
        |i| format!("{}-{}", significant(i.low), significant(i.high)),
    )
}
