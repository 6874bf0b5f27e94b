//! Which devices, pairs and machines of a fleet are slower than their like. Data only.

use std::collections::BTreeMap;

use record::exit;
use serde::Serialize;

use super::gather::{Gathered, Kind, Member, Unreadable, Value};
use super::outliers::{Centre, MIN_ALIKE};
use crate::report::{BoxVerdict, Fingerprint, Side};

/// What a fleet came to; printed by `--json`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Fleet {
    pub(crate) schema: u32,
    pub(crate) program: &'static str,
    pub(crate) simulated: Option<String>,
    pub(crate) expected: Option<usize>,
    pub(crate) groups: Vec<Group>,
    pub(crate) unreadable: Vec<Unreadable>,
    pub(crate) superseded: usize,
    pub(crate) exit_code: u8,
}

/// Machines alike.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Group {
    pub(crate) profile: String,
    pub(crate) fingerprint: Fingerprint,
    pub(crate) nodes: Vec<Node>,
    /// The worst first.
    pub(crate) outliers: Vec<Outlier>,
    /// Figures that were compared with enough others.
    pub(crate) compared: usize,
}

/// A machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Node {
    pub(crate) node: String,
    pub(crate) report: String,
    pub(crate) verdict: Option<BoxVerdict>,
    pub(crate) reasons: Vec<String>,
    pub(crate) outliers: usize,
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

/// A value beside the median of its like.
struct Compared<'a> {
    member: usize,
    value: &'a Value,
    centre: Centre,
    alike: usize,
}

/// Judges what was gathered.
pub(super) fn judge(gathered: Gathered, expected: Option<usize>) -> Fleet {
    let mut simulated: Vec<String> = gathered
        .groups
        .iter()
        .filter_map(|group| group.simulated.clone())
        .collect();
    simulated.sort();
    simulated.dedup();
    let mut fleet = Fleet {
        schema: 2,
        program: "accept fleet",
        simulated: (!simulated.is_empty()).then(|| simulated.join(", ")),
        expected,
        groups: gathered.groups.iter().map(group).collect(),
        unreadable: gathered.unreadable,
        superseded: gathered.superseded,
        exit_code: exit::DONE,
    };
    fleet.exit_code = exit_code(&fleet);
    fleet
}

impl Fleet {
    /// All machines.
    pub(crate) fn nodes(&self) -> impl Iterator<Item = &Node> {
        self.groups.iter().flat_map(|group| &group.nodes)
    }

    /// How many machines came to this verdict.
    pub(crate) fn count(&self, verdict: BoxVerdict) -> usize {
        let is_it = |node: &&Node| node.verdict == Some(verdict);
        self.nodes().filter(is_it).count()
    }
}

fn exit_code(fleet: &Fleet) -> u8 {
    let has_outlier = fleet.groups.iter().any(|group| !group.outliers.is_empty());
    if has_outlier || fleet.count(BoxVerdict::Rejected) > 0 {
        return exit::REJECTED;
    }
    let is_small = |group: &Group| group.nodes.len() < MIN_ALIKE || group.compared == 0;
    let is_lacking = fleet
        .expected
        .is_some_and(|expected| fleet.nodes().count() < expected);
    let is_open = fleet.count(BoxVerdict::Inconclusive) > 0
        || !fleet.unreadable.is_empty()
        || fleet.groups.iter().any(is_small)
        || is_lacking;
    match is_open {
        true => exit::INCONCLUSIVE,
        false => exit::DONE,
    }
}

fn group(group: &super::gather::Group) -> Group {
    let mut kinds: BTreeMap<&Kind, Vec<(usize, &Value)>> = BTreeMap::new();
    for (at, member) in group.members.iter().enumerate() {
        for value in &member.figures {
            kinds.entry(&value.kind).or_default().push((at, value));
        }
    }
    let (mut compared, mut outliers) = (0, Vec::new());
    for values in kinds.into_values() {
        let all = beside_their_like(&values);
        compared += all.len();
        outliers.extend(slower(&all, &group.members));
    }
    outliers.sort_by(|one, other| other.worse_percent.total_cmp(&one.worse_percent));
    let node = |member: &Member| Node {
        node: member.node.clone(),
        report: member.path.clone(),
        verdict: member.verdict,
        reasons: member.reasons.clone(),
        outliers: outliers
            .iter()
            .filter(|one| one.report == member.path)
            .count(),
    };
    Group {
        profile: group.profile.clone(),
        fingerprint: group.fingerprint.clone(),
        nodes: group.members.iter().map(node).collect(),
        outliers,
        compared,
    }
}

/// Compares each value with those of the same place in other machines, and where these are too few, with those of its class.
fn beside_their_like<'a>(values: &[(usize, &'a Value)]) -> Vec<Compared<'a>> {
    let (mut all, rest) = alike(values, |value| Some(value.about.join(" ")));
    let (by_class, _) = alike(&rest, |value| value.class.clone());
    all.extend(by_class);
    all
}

/// Values with something in common beside their median, and those that have too few like them.
fn alike<'a>(
    values: &[(usize, &'a Value)],
    common: impl Fn(&Value) -> Option<String>,
) -> (Vec<Compared<'a>>, Vec<(usize, &'a Value)>) {
    let mut by: BTreeMap<Option<String>, Vec<(usize, &'a Value)>> = BTreeMap::new();
    for one in values {
        by.entry(common(one.1)).or_default().push(*one);
    }
    let (mut compared, mut rest) = (Vec::new(), Vec::new());
    for (common, values) in by {
        let numbers: Vec<f64> = values.iter().map(|(_, value)| value.value).collect();
        let centre = Centre::of(&numbers).filter(|_| common.is_some());
        let Some(centre) = centre else {
            rest.extend(values);
            continue;
        };
        compared.extend(values.iter().map(|(member, value)| Compared {
            member: *member,
            value,
            centre,
            alike: numbers.len(),
        }));
    }
    (compared, rest)
}

/// The outliers of one kind of figure. Where most places of a class are slow in a machine, it is the machine, once.
fn slower(all: &[Compared<'_>], members: &[Member]) -> Vec<Outlier> {
    let mut outliers = Vec::new();
    let mut places: BTreeMap<(usize, Option<&String>), Vec<&Compared<'_>>> = BTreeMap::new();
    for one in all {
        let key = (one.member, one.value.class.as_ref());
        places.entry(key).or_default().push(one);
    }
    for of_machine in places.into_values() {
        let slow = of_machine.iter().filter(|one| one.off().is_some());
        let slow: Vec<&Compared<'_>> = slow.copied().collect();
        let is_machine =
            slow.len() > 1 && slow.len() * 4 >= of_machine.len() * 3 && !have_common_device(&slow);
        let mut found: Vec<Outlier> = slow.iter().filter_map(|one| one.outlier(members)).collect();
        if is_machine {
            // The least of them is what the machine as a whole lacks at least.
            found.sort_by(|one, other| one.worse_percent.total_cmp(&other.worse_percent));
            found.truncate(1);
            for machine in &mut found {
                machine.about.clear();
                machine.slots.clear();
            }
        }
        outliers.extend(found);
    }
    outliers
}

/// Whether all of several pairs have a device in common, whose card or slot is slow then.
fn have_common_device(slow: &[&Compared<'_>]) -> bool {
    let ends = |one: &Compared<'_>| -> Vec<String> {
        let about = one.value.about.iter().flat_map(|about| about.split("->"));
        about.map(str::to_owned).collect()
    };
    let Some((first, others)) = slow.split_first() else {
        return false;
    };
    let in_all = |end: &String| others.iter().all(|other| ends(other).contains(end));
    ends(first).iter().any(in_all)
}

impl Compared<'_> {
    fn off(&self) -> Option<super::outliers::Off> {
        let more_is_better = self.value.good == Side::AtLeast;
        let off = self.centre.off(self.value.value, more_is_better);
        off.is_outlier().then_some(off)
    }

    fn outlier(&self, members: &[Member]) -> Option<Outlier> {
        let (off, member, value) = (self.off()?, &members[self.member], self.value);
        let ends = value.about.iter().flat_map(|about| about.split("->"));
        Some(Outlier {
            node: member.node.clone(),
            report: member.path.clone(),
            about: value.about.clone(),
            slots: ends
                .filter_map(|end| member.slots.get(end).cloned())
                .collect(),
            check: value.kind.check.clone(),
            what: value.kind.what.clone(),
            unit: value.kind.unit.clone(),
            value: value.value,
            median: self.centre.median,
            worse_percent: off.worse_by * 100.0,
            z: off.z,
            alike: self.alike,
        })
    }
}
