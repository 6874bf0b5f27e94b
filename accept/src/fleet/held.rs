//! The values of a figure, each held against its like: the same place of other boxes, or, where fewer than four boxes have a place, all
//! places whose limit was worked out of the same.
//!
//! What is far from its like is said elsewhere.

use std::collections::BTreeMap;

use super::member::Value;
use super::outliers::Centre;

/// A value with what it is held against.
pub(super) struct Held<'a> {
    /// Index of its box.
    pub(super) member: usize,
    pub(super) value: &'a Value,
    /// The median of its like.
    pub(super) median: f64,
    /// How many are alike.
    pub(super) alike: usize,
}

impl<'a> Held<'a> {
    /// The value as a part of the median of its like.
    pub(super) fn part(&self) -> f64 {
        self.value.value / self.median
    }

    /// Its box, and what its limit was worked out of.
    pub(super) fn class(&self) -> (usize, Option<&'a str>) {
        (self.member, self.value.class.as_deref())
    }
}

/// The values that have enough like them, by box and place.
pub(super) fn held<'a>(values: &[(usize, &'a Value)]) -> Vec<Held<'a>> {
    let (by_place, rest) = alike(values, |value| Some(&value.about));
    let (by_class, _) = alike(&rest, |value| value.class.as_ref());
    let mut held: Vec<Held> = by_place.into_iter().chain(by_class).collect();
    held.sort_by(|one, other| {
        (one.member, &one.value.about).cmp(&(other.member, &other.value.about))
    });
    held
}

/// How many boxes have the place that most of them have: only boxes that have the same place can be judged as a whole.
pub(super) fn boxes(values: &[(usize, &Value)]) -> usize {
    let mut by: BTreeMap<&[String], usize> = BTreeMap::new();
    for (_, value) in values {
        *by.entry(&value.about).or_default() += 1;
    }
    by.into_values().max().unwrap_or_default()
}

/// Values by what they have in common: those of which enough are alike, with the median of them, and the rest.
fn alike<'a, K: Ord + 'a>(
    values: &[(usize, &'a Value)],
    common: impl Fn(&'a Value) -> Option<&'a K>,
) -> (Vec<Held<'a>>, Vec<(usize, &'a Value)>) {
    let mut by: BTreeMap<Option<&K>, Vec<(usize, &Value)>> = BTreeMap::new();
    for (member, value) in values {
        by.entry(common(value)).or_default().push((*member, *value));
    }
    let (mut held, mut rest) = (Vec::new(), Vec::new());
    for (common, values) in by {
        let numbers: Vec<f64> = values.iter().map(|(_, value)| value.value).collect();
        match Centre::of(&numbers).filter(|_| common.is_some()) {
            None => rest.extend(values),
            Some(centre) => held.extend(values.into_iter().map(|(member, value)| Held {
                member,
                value,
                median: centre.median,
                alike: numbers.len(),
            })),
        }
    }
    (held, rest)
}
