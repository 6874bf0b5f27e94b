//! One number in a table, with its interval, or a word for why there is none.

use crate::quantity::Quantity;
use crate::record::{Outcome, Point, Verification};
use crate::stats::Interval;

/// A dash for what is absent.
pub(super) const ABSENT: &str = "—";

/// `26.31 ±0.1%`; without an interval `26.31 (n=3)`.
pub(super) fn quantity(quantity: &Quantity) -> String {
    with_interval(quantity.value, quantity.interval, quantity.n)
}

/// The same of a number that is no quantity of its own.
pub(super) fn with_interval(value: f64, interval: Option<Interval>, n: usize) -> String {
    let shown = significant(value);
    match interval.and_then(|interval| interval.relative_half_width(value)) {
        Some(width) => format!("{shown} ±{:.1}%", width * 100.0),
        None => format!("{shown} (n={n})"),
    }
}

/// Two decimals, or three significant digits for small values.
pub(super) fn significant(value: f64) -> String {
    match value.abs() {
        v if v >= 0.995 || v == 0.0 => format!("{value:.2}"),
        v if v >= 0.0995 => format!("{value:.3}"),
        v if v >= 0.00995 => format!("{value:.4}"),
        _ => format!("{value:.2e}"),
    }
}

/// A number of a point by its name, or a word.
pub(super) fn of_point(point: &Point, name: &str) -> String {
    match &point.outcome {
        Outcome::Measured {
            verification: Verification::WrongData { .. },
            ..
        } => "WRONG DATA".to_owned(),
        Outcome::Measured { quantities, .. } => {
            let named = quantities.iter().find(|named| named.name == name);
            named.map_or_else(|| ABSENT.to_owned(), |named| quantity(&named.quantity))
        }
        Outcome::NotApplicable { .. } => ABSENT.to_owned(),
        Outcome::Skipped { .. } => "skipped".to_owned(),
        Outcome::Failed { .. } => "FAILED".to_owned(),
        Outcome::Hang { .. } => "HANG".to_owned(),
    }
}

/// A fraction of a ceiling as `91%`.
pub(super) fn fraction(point: &Point, name: &str) -> Option<String> {
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
pub(super) fn names<'a>(points: &[&'a Point]) -> Vec<&'a str> {
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
pub(super) fn number<'a>(point: &'a Point, name: &str) -> Option<&'a Quantity> {
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
