//! Which number of one file is which number of the other: the same test, ends and name, and the same size where both say one.

use std::collections::{BTreeMap, BTreeSet};

use measure::import::links::{LinkEnds, LinkFile, LinkValue};

/// Two values of the same number.
#[derive(Debug)]
pub(super) struct Pair {
    pub(super) a: LinkValue,
    pub(super) b: LinkValue,
}

impl Pair {
    /// Whether both say something of the devices.
    pub(super) fn is_judged(&self) -> bool {
        self.a.is_judged && self.b.is_judged
    }
}

/// The values of two files, put together.
#[derive(Debug, Default)]
pub(super) struct Pairs {
    pub(super) both: Vec<Pair>,
    pub(super) only_a: Vec<LinkValue>,
    pub(super) only_b: Vec<LinkValue>,
}

/// Puts the values of two files together, which are numbered alike.
pub(super) fn of(a: &LinkFile, b: &LinkFile) -> Pairs {
    let (of_a, mut of_b) = (by_ends(a), by_ends(b));
    let mut pairs = Pairs::default();
    for (ends, values) in of_a {
        // Both ways between two devices may be told from either of them; some files tell it from both.
        let same = of_b.remove(&ends);
        let found = same.or_else(|| of_b.remove(&ends.mirrored()?));
        match found {
            Some(others) => put(&mut pairs, values, others),
            None => pairs.only_a.extend(values),
        }
    }
    // What is left of a number that the other file tells from the other end is no further number.
    let known: BTreeSet<LinkEnds> = a.values.iter().map(|value| value.ends.clone()).collect();
    let is_mirror = |ends: &LinkEnds| {
        ends.mirrored()
            .is_some_and(|mirror| known.contains(&mirror))
    };
    for (ends, values) in of_b {
        if !is_mirror(&ends) {
            pairs.only_b.extend(values);
        }
    }
    let paired: BTreeSet<LinkEnds> = pairs
        .both
        .iter()
        .flat_map(|pair| [Some(pair.a.ends.clone()), pair.a.ends.mirrored()])
        .flatten()
        .collect();
    pairs
        .only_a
        .retain(|value| value.ends.mirrored().is_none() || !paired.contains(&value.ends));
    pairs
}

fn by_ends(file: &LinkFile) -> BTreeMap<LinkEnds, Vec<LinkValue>> {
    let mut map: BTreeMap<LinkEnds, Vec<LinkValue>> = BTreeMap::new();
    for value in &file.values {
        map.entry(value.ends.clone())
            .or_default()
            .push(value.clone());
    }
    map
}

/// Values of one number by size; where no size is in both, the largest ones are put together.
fn put(pairs: &mut Pairs, mut a: Vec<LinkValue>, mut b: Vec<LinkValue>) {
    let mut found = false;
    let mut left = Vec::new();
    for value in std::mem::take(&mut a) {
        let same = |other: &LinkValue| other.bytes.is_some() && other.bytes == value.bytes;
        match b.iter().position(same) {
            Some(at) => {
                found = true;
                let b = b.swap_remove(at);
                pairs.both.push(Pair { a: value, b });
            }
            None => left.push(value),
        }
    }
    if !found && let (Some(a), Some(b)) = (take_largest(&mut left), take_largest(&mut b)) {
        pairs.both.push(Pair { a, b });
    }
    pairs.only_a.extend(left);
    pairs.only_b.extend(b);
}

fn take_largest(values: &mut Vec<LinkValue>) -> Option<LinkValue> {
    let largest = (0..values.len()).max_by_key(|at| values[*at].bytes)?;
    Some(values.swap_remove(largest))
}
