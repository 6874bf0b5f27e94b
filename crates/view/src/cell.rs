//! One number in a table, with its interval, or a word for why there is none.

use record::quantity::Quantity;
use record::{Outcome, Point, Unmeasured, Verification};
use stats::Interval;

/// A dash for what is absent.
pub(crate) const ABSENT: &str = "—";

/// Two decimals, or three significant digits for small values; one from 100 on, none from 10,000 on.
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

/// The same, or a dash.
#[must_use]
pub fn maybe(value: Option<f64>) -> String {
    or_absent(value.map(significant))
}

/// `12.3 ms`.
pub(crate) fn ms(value: f64) -> String {
    format!("{} ms", significant(value))
}

/// `25.6`, `8.02`, `0.945`: what a sentence needs of a number.
pub(crate) fn short(value: f64) -> String {
    match value.abs() {
        v if v >= 9.995 => format!("{value:.1}"),
        v if v >= 0.995 => format!("{value:.2}"),
        _ => significant(value),
    }
}

/// A word for what has no number; empty where it has one.
pub(crate) fn word(unmeasured: Option<(Unmeasured, &str)>) -> &'static str {
    match unmeasured.map(|(why, _)| why) {
        None => "",
        Some(Unmeasured::WrongData) => "WRONG DATA",
        Some(Unmeasured::NotApplicable) => ABSENT,
        Some(Unmeasured::Skipped) => "skipped",
        Some(Unmeasured::Failed) => "FAILED",
        Some(Unmeasured::Hang) => "HANG",
    }
}

/// Why there is no number, and what was seen.
pub(crate) fn because((why, seen): (Unmeasured, &str)) -> String {
    let why = match why {
        Unmeasured::WrongData => "Wrong data",
        Unmeasured::NotApplicable => "Not applicable",
        Unmeasured::Skipped => "Skipped",
        Unmeasured::Failed => "Failed",
        Unmeasured::Hang => "Hung",
    };
    format!("{why}: {seen}")
}

/// The text, or a dash where there is none.
pub(crate) fn or_absent(text: Option<String>) -> String {
    text.unwrap_or_else(|| ABSENT.to_owned())
}

/// A thing's own words, or a dash where it is absent.
pub(crate) fn shown<T: ToString>(thing: Option<T>) -> String {
    or_absent(thing.map(|thing| thing.to_string()))
}

/// `8.95-9.09`, or a dash.
#[must_use]
pub fn range(interval: Option<Interval>) -> String {
    or_absent(interval.map(|i| format!("{}-{}", significant(i.low), significant(i.high))))
}

/// A fraction of a ceiling as `91%`.
pub(crate) fn fraction(point: &Point, name: &str) -> Option<String> {
    match &point.outcome {
        Outcome::Measured {
            link, verification, ..
        } if !matches!(verification, Verification::WrongData { .. }) => link
            .fraction
            .get(name)
            .map(|fraction| format!("{:.0}%", fraction * 100.0)),
        _ => None,
    }
}

/// The names of the numbers that the points have, in their order.
pub(crate) fn names<'a>(points: &[&'a Point]) -> Vec<&'a str> {
    let of = |point: &'a Point| match &point.outcome {
        Outcome::Measured { quantities, .. } => {
            quantities.iter().map(|named| named.name.as_str()).collect()
        }
        _ => Vec::new(),
    };
    points
        .iter()
        .map(|point| of(point))
        .max_by_key(Vec::len)
        .filter(|names| !names.is_empty())
        .unwrap_or(vec!["bandwidth"])
}

/// A number of a point that stands for something.
pub(crate) fn number<'a>(point: &'a Point, name: &str) -> Option<&'a Quantity> {
    match &point.outcome {
        Outcome::Measured {
            quantities,
            verification,
            ..
        } if !matches!(verification, Verification::WrongData { .. }) => quantities
            .iter()
            .find(|named| named.name == name)
            .map(|named| &named.quantity),
        _ => None,
    }
}
