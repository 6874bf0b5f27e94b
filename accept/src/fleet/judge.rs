//! Which devices, pairs and machines of a fleet are slower than their like. Data only.

use std::collections::BTreeMap;

use record::exit;
use serde::Serialize;

use super::outliers::{Centre, MIN_ALIKE, Off};
use crate::report::{BoxVerdict, Fingerprint};

/// What a fleet came to; printed by `--json`.
#[derive(Debug, Clone, Serialize)]
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
#[derive(Debug, Clone, Serialize)]
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
    pub(crate) slots: BTreeMap<String, String>,
    #[serde(skip)]
    pub(crate) identities: Vec<String>,
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
        self.exit_code = match (has_outlier, is_open) {
            _ if self.count(BoxVerdict::Rejected) > 0 => exit::REJECTED,
            (true, _) => exit::REJECTED,
            (false, true) => exit::INCONCLUSIVE,
            (false, false) => exit::DONE,
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
                    slow.push(Outlier::of(
                        node,
                        place,
                        value,
                        (centre, off),
                        numbers.len(),
                    ));
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
        let worst = |one: &Outlier, other: &Outlier| {
            let (one, other) = (one.worse_percent, other.worse_percent);
            other.total_cmp(&one)
        };
        self.outliers.sort_by(worst);
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
    ends.any(|end| {
        others
            .iter()
            .all(|other| other.ends().any(|own| own == end))
    })
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
        let slots = outlier
            .ends()
            .filter_map(|end| node.slots.get(end).cloned());
        outlier.slots = slots.collect();
        outlier
    }

    /// The devices that it is about.
    fn ends(&self) -> impl Iterator<Item = &str> {
        self.about.iter().flat_map(|about| about.split("->"))
    }
}
