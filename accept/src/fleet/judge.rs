//! Which devices, pairs and machines of a fleet are slower than their like. Data only.
//!
//! What is far from its like is told by the modified z score (Iglewicz and Hoaglin, How to Detect and Handle Outliers, 1993) with a floor under
//! the spread, and a difference that must matter, too. A standard deviation would not do: of N values none lies further from the mean than
//! (N-1)/sqrt(N) of them, 2.85 for ten.

use std::collections::BTreeMap;

use record::exit;
use serde::Serialize;
use stats::median;

use crate::report::{BoxVerdict, Fingerprint, ReportDevice};

/// So many must be alike before one of them is called different.
pub(crate) const MIN_ALIKE: usize = 4;
/// The modified z score beyond which a value is called different (our choice; Iglewicz and Hoaglin advise 3.5). Where good devices differ by 1%,
/// one that is 5% slow is found among 8 in 77 of 100 fleets and among 16 in 86 (3.5: 69 and 80), and 0.4 to 0.8 good ones of 1,000 are named.
const Z: f64 = 3.2;
/// By so much of the median it must be worse, too (our choice: less does not decide about a box).
const MATTERS: f64 = 0.03;
/// The spread is taken as no less than this part of the median (our choice), so that equal values make no outlier of the next.
const LEAST_SPREAD: f64 = 0.01;
/// MAD of a normal distribution to its standard deviation.
const TO_SIGMA: f64 = 1.4826;

/// What a fleet came to; printed by `--json`.
#[derive(Debug, Clone, Default, Serialize)]
pub(crate) struct Fleet {
    pub(crate) schema: u32,
    pub(crate) program: &'static str,
    pub(crate) simulated: Option<String>,
    pub(crate) expected: Option<usize>,
    pub(crate) groups: Vec<Group>,
    /// Files that cannot be read, and runs that left no report.
    pub(crate) unreadable: Vec<Unreadable>,
    /// Reports of earlier runs of a machine.
    pub(crate) superseded: usize,
    pub(crate) exit_code: u8,
}

/// A file without a usable report.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(crate) struct Unreadable {
    pub(crate) path: String,
    pub(crate) detail: String,
}

/// Machines alike: of one profile, with the same devices, drivers and topology.
#[derive(Debug, Clone, Default, Serialize)]
pub(crate) struct Group {
    pub(crate) profile: String,
    pub(crate) fingerprint: Fingerprint,
    pub(crate) nodes: Vec<Node>,
    /// The worst first.
    pub(crate) outliers: Vec<Outlier>,
    /// Figures that were compared with enough others.
    pub(crate) compared: usize,
    #[serde(skip)]
    pub(crate) simulated: Option<String>,
}

/// A machine by its latest report.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Node {
    pub(crate) node: String,
    pub(crate) report: String,
    pub(crate) verdict: BoxVerdict,
    /// The checks that speak against it.
    pub(crate) reasons: Vec<String>,
    pub(crate) outliers: usize,
    #[serde(skip)]
    pub(crate) started: String,
    #[serde(skip)]
    pub(crate) devices: Vec<ReportDevice>,
    #[serde(skip)]
    pub(crate) figures: Vec<(Place, f64)>,
}

/// What a figure is of: the same place in each machine.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    pub(crate) check: String,
    pub(crate) what: String,
    pub(crate) unit: String,
    pub(crate) more_is_better: bool,
    /// The device or pair.
    pub(crate) about: Vec<String>,
    /// What its limit rests on, such as the link: places of one class are alike.
    pub(crate) class: Option<String>,
}

/// A figure that is worse than its like.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Outlier {
    pub(crate) node: String,
    pub(crate) report: String,
    /// The device or pair; empty for a machine as a whole.
    pub(crate) about: Vec<String>,
    pub(crate) slots: Vec<String>,
    pub(crate) check: String,
    pub(crate) what: String,
    pub(crate) unit: String,
    pub(crate) value: f64,
    pub(crate) median: f64,
    pub(crate) worse_percent: f64,
    /// Distance in robust spreads.
    pub(crate) z: f64,
    pub(crate) alike: usize,
}

impl Fleet {
    /// All machines.
    pub(crate) fn nodes(&self) -> impl Iterator<Item = &Node> {
        self.groups.iter().flat_map(|group| &group.nodes)
    }

    /// How many machines came to this verdict.
    pub(crate) fn count(&self, verdict: BoxVerdict) -> usize {
        let is_it = |node: &&Node| node.verdict == verdict;
        self.nodes().filter(is_it).count()
    }

    /// Judges what was gathered.
    pub(super) fn judge(&mut self) {
        self.groups.iter_mut().for_each(Group::judge);
        let has_outlier = self.groups.iter().any(|group| !group.outliers.is_empty());
        let is_small = |group: &Group| group.nodes.len() < MIN_ALIKE || group.compared == 0;
        let count = self.nodes().count();
        let is_open = self.count(BoxVerdict::Inconclusive) > 0
            || !self.unreadable.is_empty()
            || self.groups.iter().any(is_small)
            || self.expected.is_some_and(|expected| count < expected);
        self.exit_code = match has_outlier || self.count(BoxVerdict::Rejected) > 0 {
            true => exit::REJECTED,
            false if is_open => exit::INCONCLUSIVE,
            false => exit::DONE,
        };
    }
}

impl Group {
    /// Compares each figure with those of the same place in the other machines.
    fn judge(&mut self) {
        let mut places: BTreeMap<&Place, Vec<(usize, f64)>> = BTreeMap::new();
        for (at, node) in self.nodes.iter().enumerate() {
            for (place, value) in &node.figures {
                places.entry(place).or_default().push((at, *value));
            }
        }
        // By machine, and by what of it is alike: how many figures were compared, and those that are slow.
        let mut machines: BTreeMap<_, (usize, Vec<Outlier>)> = BTreeMap::new();
        for (place, values) in places {
            let numbers: Vec<f64> = values.iter().map(|(_, value)| *value).collect();
            let Some(centre) = Centre::of(&numbers) else {
                continue;
            };
            self.compared += numbers.len();
            for (at, value) in values {
                let key = (at, &place.check, &place.what, &place.unit, &place.class);
                let (count, slow) = machines.entry(key).or_default();
                *count += 1;
                let off = centre.off(value, place.more_is_better);
                if off.is_outlier() {
                    let node = &self.nodes[at];
                    let alike = numbers.len();
                    slow.push(Outlier::of(node, place, value, (centre, off), alike));
                }
            }
        }
        let outliers = machines.into_values().flat_map(|(count, mut slow)| {
            // Where most places are slow in a machine, it is the machine, once: the least of them is what it lacks at least.
            if slow.len() > 1 && slow.len() * 4 >= count * 3 && !have_common_device(&slow) {
                slow.sort_by(|one, other| one.worse_percent.total_cmp(&other.worse_percent));
                slow.truncate(1);
                slow[0].about.clear();
                slow[0].slots.clear();
            }
            slow
        });
        self.outliers = outliers.collect();
        let worse =
            |one: &Outlier, other: &Outlier| other.worse_percent.total_cmp(&one.worse_percent);
        self.outliers.sort_by(worse);
        for node in &mut self.nodes {
            let own = self.outliers.iter();
            node.outliers = own.filter(|one| one.report == node.report).count();
        }
    }
}

/// Whether all of several pairs have a device in common, whose card or slot is slow then.
fn have_common_device(slow: &[Outlier]) -> bool {
    let (first, others) = (&slow[0], &slow[1..]);
    let mut ends = first.ends();
    let is_in = |other: &Outlier, end: &str| other.ends().any(|own| own == end);
    ends.any(|end| others.iter().all(|other| is_in(other, end)))
}

impl Outlier {
    fn of(
        node: &Node,
        place: &Place,
        value: f64,
        (centre, off): (Centre, Off),
        alike: usize,
    ) -> Self {
        let mut outlier = Self {
            node: node.node.clone(),
            report: node.report.clone(),
            about: place.about.clone(),
            slots: Vec::new(),
            check: place.check.clone(),
            what: place.what.clone(),
            unit: place.unit.clone(),
            value,
            median: centre.median,
            worse_percent: off.worse_by * 100.0,
            z: off.z,
            alike,
        };
        let device = |end| node.devices.iter().find(|device| device.label == end);
        let slots = outlier.ends().filter_map(|end| device(end)?.slot.clone());
        outlier.slots = slots.collect();
        outlier
    }

    /// The devices that it is about.
    fn ends(&self) -> impl Iterator<Item = &str> {
        self.about.iter().flat_map(|about| about.split("->"))
    }
}

/// The middle of values that are alike, and how far they lie around it.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Centre {
    /// The median.
    median: f64,
    /// 1.4826 of the median absolute deviation.
    spread: f64,
}

/// How far a value lies on the bad side.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Off {
    /// Modified z score; below zero is worse.
    z: f64,
    /// How much worse than the median, as a part of it.
    worse_by: f64,
}

impl Centre {
    /// Of values above zero; `None` where too few are alike.
    fn of(values: &[f64]) -> Option<Self> {
        if values.len() < MIN_ALIKE {
            return None;
        }
        let middle = median(values).filter(|middle| *middle > 0.0)?;
        let distances: Vec<f64> = values.iter().map(|value| (value - middle).abs()).collect();
        Some(Self {
            median: middle,
            spread: TO_SIGMA * median(&distances)?,
        })
    }

    /// How far a value lies on the bad side, where more is better or where less is.
    fn off(&self, value: f64, more_is_better: bool) -> Off {
        let sign = if more_is_better { 1.0 } else { -1.0 };
        let better_by = sign * (value - self.median);
        let least = LEAST_SPREAD * self.median;
        Off {
            z: better_by / self.spread.max(least),
            worse_by: -better_by / self.median,
        }
    }
}

impl Off {
    /// Whether it is called different.
    fn is_outlier(self) -> bool {
        self.z < -Z && self.worse_by > MATTERS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_score_is_that_of_the_arithmetic() {
        // Median 100; distances 8, 0, 0, 2, 4 have the median 2, so that the spread is 2.9652: (92 - 100) / 2.9652 = -2.698.
        let values = [92.0, 100.0, 100.0, 102.0, 104.0];
        let centre = Centre::of(&values).unwrap();
        assert_eq!(centre.median, 100.0);
        let off = centre.off(92.0, true);
        assert!((off.z + 2.698).abs() < 1e-3, "{off:?}");
        assert!((off.worse_by - 0.08).abs() < 1e-12);
        // For a time the same distance is on the good side.
        assert!(centre.off(92.0, false).z > 0.0);
    }

    #[test]
    fn the_floor_keeps_equal_values_from_making_an_outlier() {
        // All equal but one: spread 0, floor 1 of 100. 3.1 lower is z -3.1 and no outlier, 3.3 lower is one.
        for (low, expected) in [(96.9, false), (96.7, true)] {
            let centre = Centre::of(&[100.0, 100.0, 100.0, 100.0, low]).unwrap();
            let off = centre.off(low, true);
            assert_eq!(off.is_outlier(), expected);
        }
    }

    #[test]
    fn five_percent_among_devices_that_differ_by_one_are_found_three_times_of_four() {
        let random = &mut stats::SplitMix::new(7);
        // The sum of twelve uniform numbers has a variance of 1 and a mean of 6.
        let mut rate = || {
            let uniform = (0..12).map(|_| random.below(1 << 20) as f64 / f64::from(1 << 20));
            25.0 * (1.0 + 0.01 * (uniform.sum::<f64>() - 6.0))
        };
        for alike in [8, 16] {
            let (mut found, mut named) = (0, 0);
            for _ in 0..1000 {
                let mut rates: Vec<f64> = (0..alike).map(|_| rate()).collect();
                let is_slow =
                    |rates: &[f64], rate| Centre::of(rates).unwrap().off(rate, true).is_outlier();
                named += rates.iter().filter(|rate| is_slow(&rates, **rate)).count();
                rates[0] *= 0.95;
                found += usize::from(is_slow(&rates, rates[0]));
            }
            assert!(found >= 750 && named <= alike, "{alike}: {found}, {named}");
        }
    }

    #[test]
    fn fewer_than_four_are_not_judged() {
        assert_eq!(Centre::of(&[1.0, 1.0, 0.2]), None);
        assert!(Centre::of(&[1.0, 1.0, 1.0, 0.2]).is_some());
    }
}
