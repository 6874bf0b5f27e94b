//! Boxes that are slow as a whole in a figure: by the median over their places beside that of other boxes, or because nearly all of
//! their places are slower than their like.
//!
//! Each is looked for among the places of a box whose limit was worked out of the same, such as its near pairs, then among all the others.

use std::collections::{BTreeMap, BTreeSet};

use measure::stats::median;

use super::held::Held;
use super::outcome::Against;
use super::outliers::{Centre, Off};

/// From so many places on a box is judged by their median: that of fewer follows a single slow device.
const MIN_PLACES: usize = 3;

/// A box that is slow as a whole.
pub(super) struct Whole {
    /// Index of the box.
    pub(super) member: usize,
    /// Its places, by index among what is held.
    pub(super) places: Vec<usize>,
    /// The median over them, each as a part of the median of its like.
    pub(super) part: f64,
    /// The median over them.
    pub(super) value: f64,
    /// What that is held against.
    pub(super) median: f64,
    /// What `median` is of.
    pub(super) against: Against,
    /// Of how many.
    pub(super) alike: usize,
    /// How far it lies from that.
    pub(super) off: Off,
}

/// The places of one box, or those of one class of it.
struct Places<'a> {
    member: usize,
    class: Option<&'a str>,
    of: Vec<usize>,
}

/// Boxes that are slow as a whole.
pub(super) fn whole_boxes(held: &[Held], more_is_better: bool) -> Vec<Whole> {
    let mut found: Vec<Whole> = Vec::new();
    for by_class in [true, false] {
        let slow = by_median(held, &places(held, &found, by_class), more_is_better);
        found.extend(slow);
    }
    let parts = beside_own(held, &found);
    let Some(centre) = Centre::of(&parts) else {
        return found;
    };
    let off = |part: f64| centre.off(part, more_is_better);
    for by_class in [true, false] {
        let slow: Vec<Whole> = places(held, &found, by_class)
            .into_iter()
            .filter(|places| {
                let is_slow = |at: &usize| off(parts[*at]).is_outlier();
                is_of_the_box(held, &places.of, is_slow)
            })
            .filter_map(|places| {
                let over = |of: fn(&Held) -> f64| median_over(held, &places.of, of);
                let part = over(|one| one.part())?;
                Some(Whole {
                    member: places.member,
                    part,
                    value: over(|one| one.value.value)?,
                    median: over(|one| one.median)?,
                    against: Against::Like,
                    alike: held[*places.of.first()?].alike,
                    off: off(part),
                    places: places.of,
                })
            })
            .collect();
        found.extend(slow);
    }
    found
}

/// Each value as a part of the median of its like, and of its own box where that is slow as a whole.
pub(super) fn beside_own(held: &[Held], whole: &[Whole]) -> Vec<f64> {
    let mut parts: Vec<f64> = held.iter().map(Held::part).collect();
    for slow in whole {
        for at in &slow.places {
            parts[*at] /= slow.part;
        }
    }
    parts
}

/// Places of which three quarters or more are slow: so many that none of them is to blame by itself.
pub(super) fn are_most(places: usize, slow: usize) -> bool {
    slow * 4 >= places * 3
}

/// Whether so many of a box's places are slow that it is the box: three quarters of its devices; of its pairs nine tenths, as two bad cards of
/// four leave two good pairs of twelve.
fn is_the_box(held: &[Held], places: &[usize], slow: usize) -> bool {
    match places.iter().any(|at| is_pair(&held[*at].value.about)) {
        true => slow * 10 >= places.len() * 9,
        false => are_most(places.len(), slow),
    }
}

/// Whether what a check is about is a pair.
pub(super) fn is_pair(about: &[String]) -> bool {
    about.iter().any(|about| about.contains("->"))
}

/// The devices in what a check is about: `GPU1`, or `GPU1->GPU12`, which does not name `GPU2`.
pub(super) fn ends(about: &[String]) -> impl Iterator<Item = &str> {
    about
        .iter()
        .flat_map(|about| about.split("->"))
        .flat_map(|end| end.split([' ', ',']))
}

fn median_over(held: &[Held], places: &[usize], of: impl Fn(&Held) -> f64) -> Option<f64> {
    let numbers: Vec<f64> = places.iter().map(|at| of(&held[*at])).collect();
    median(&numbers)
}

/// The places of each box, without those of boxes that were found already.
fn places<'a>(held: &[Held<'a>], found: &[Whole], by_class: bool) -> Vec<Places<'a>> {
    let known: BTreeSet<usize> = found.iter().flat_map(|one| &one.places).copied().collect();
    let mut by: BTreeMap<(usize, Option<&str>), Vec<usize>> = BTreeMap::new();
    for (at, one) in held.iter().enumerate() {
        if !known.contains(&at) {
            let (member, class) = one.class();
            by.entry((member, class.filter(|_| by_class)))
                .or_default()
                .push(at);
        }
    }
    by.into_iter()
        .map(|((member, class), of)| Places { member, class, of })
        .collect()
}

/// Boxes whose median over their places is far from that of the others.
fn by_median(held: &[Held], all: &[Places], more_is_better: bool) -> Vec<Whole> {
    let mut by: BTreeMap<Option<&str>, Vec<&Places>> = BTreeMap::new();
    for places in all.iter().filter(|places| places.of.len() >= MIN_PLACES) {
        by.entry(places.class).or_default().push(places);
    }
    by.into_values()
        .filter_map(|boxes| {
            let over = |of: fn(&Held) -> f64| -> Vec<f64> {
                boxes
                    .iter()
                    .filter_map(|places| median_over(held, &places.of, of))
                    .collect()
            };
            let (parts, values) = (over(|one| one.part()), over(|one| one.value.value));
            let (centre, median) = (Centre::of(&parts)?, median(&values)?);
            let alike = boxes.len();
            let each = boxes.into_iter().zip(parts).zip(values);
            let slow = each.filter_map(move |((places, part), value)| {
                let off = centre.off(part, more_is_better);
                // Two slow devices of four make a median in between, which is of none: those count that lie nearer to it than to the others.
                let worse_by = |at: &&usize| {
                    let off = centre.off(held[**at].part(), more_is_better);
                    off.worse_by
                };
                let nearer = places
                    .of
                    .iter()
                    .filter(|at| worse_by(at) > off.worse_by / 2.0)
                    .count();
                let is_slow = off.is_outlier() && is_the_box(held, &places.of, nearer);
                is_slow.then(|| Whole {
                    member: places.member,
                    places: places.of.clone(),
                    part,
                    value,
                    median,
                    against: Against::Boxes,
                    alike,
                    off,
                })
            });
            Some(slow)
        })
        .flatten()
        .collect()
}

/// Whether it is the box and no single device of it: enough of its places are slow, and no device is in all of them.
fn is_of_the_box(held: &[Held], places: &[usize], is_slow: impl Fn(&usize) -> bool) -> bool {
    let slow: Vec<&[String]> = places
        .iter()
        .filter(|at| is_slow(at))
        .map(|at| held[*at].value.about.as_slice())
        .collect();
    let Some((first, others)) = slow.split_first() else {
        return false;
    };
    let in_all = |end: &str| {
        others
            .iter()
            .all(|about| ends(about).any(|other| other == end))
    };
    is_the_box(held, places, slow.len()) && !ends(first).any(in_all)
}
