//! Which boxes and devices of a fleet are slower than their like.
//!
//! Alike are the same places (GPU0, or GPU0->GPU1) of the boxes of a group; where fewer than four boxes have a place, all places whose
//! limit was worked out of the same. Each value is taken as a part of the median of its like. Then boxes are judged by the median over
//! their places, and devices by what they are beside that of their box where the box itself is slow.

use std::collections::{BTreeMap, HashMap};

use measure::exit;
use measure::stats::median;

use super::gather::Fleet;
use super::member::{self, Kind, Member, Value};
use super::outcome::{Figure, Group, Named, NotAccepted, Outcome, Outlier, Scope, Unreadable};
use super::outliers::{Centre, MIN_ALIKE};
use crate::report::{BoxVerdict, Side};

/// Judges a fleet.
pub(super) fn judge(fleet: &Fleet, expected: Option<usize>) -> Outcome {
    let groups: Vec<Group> = fleet.groups.iter().map(group).collect();
    let told = |all: &[(String, String)]| -> Vec<Unreadable> {
        all.iter()
            .map(|(path, why)| Unreadable {
                path: path.clone(),
                why: why.clone(),
            })
            .collect()
    };
    let mut simulated: Vec<String> = fleet
        .groups
        .iter()
        .filter_map(|group| group.soft_box.clone())
        .collect();
    simulated.dedup();
    let mut outcome = Outcome {
        schema: 1,
        program: "accept fleet",
        simulated,
        reports: groups.iter().map(|group| group.boxes).sum::<usize>()
            + fleet.superseded.len()
            + fleet.copies.len()
            + fleet.without_devices.len(),
        unreadable: told(&fleet.unreadable),
        passed_over: fleet.passed_over,
        superseded: fleet.superseded.clone(),
        copies: fleet.copies.clone(),
        without_devices: told(&fleet.without_devices),
        without_journal: fleet.alone,
        not_searched: fleet.too_deep.clone(),
        expected,
        groups,
        exit_code: exit::DONE,
    };
    outcome.exit_code = exit_code(&outcome);
    outcome
}

/// Rejected or slower than its like is 1, whatever else holds; undecided, fewer than expected, unreadable, not searched, or nothing judged
/// beside its like, is 3.
fn exit_code(outcome: &Outcome) -> u8 {
    let groups = || outcome.groups.iter();
    let verdicts = |wanted: BoxVerdict| {
        groups()
            .flat_map(|group| &group.not_accepted)
            .any(|one| one.verdict == wanted)
    };
    if verdicts(BoxVerdict::Rejected) || groups().any(|group| !group.outliers.is_empty()) {
        return exit::REJECTED;
    }
    let is_judged = groups()
        .flat_map(|group| &group.figures)
        .any(|figure| figure.judged > 0);
    let boxes: usize = groups().map(|group| group.boxes).sum();
    let is_lacking = outcome.expected.is_some_and(|expected| boxes < expected);
    if verdicts(BoxVerdict::Inconclusive)
        || !outcome.unreadable.is_empty()
        || !outcome.without_devices.is_empty()
        || !outcome.not_searched.is_empty()
        || !is_judged
        || is_lacking
    {
        return exit::INCONCLUSIVE;
    }
    exit::DONE
}

fn group(group: &member::Group) -> Group {
    let mut kinds: BTreeMap<&Kind, Vec<(usize, &Value)>> = BTreeMap::new();
    for (index, member) in group.boxes.iter().enumerate() {
        for value in &member.figures {
            kinds.entry(&value.kind).or_default().push((index, value));
        }
    }
    let judged: Vec<(Figure, Vec<Outlier>)> = kinds
        .into_iter()
        .filter_map(|(kind, values)| figure(kind, &values, &group.boxes))
        .collect();
    let (figures, outliers): (Vec<_>, Vec<_>) = judged.into_iter().unzip();
    let mut outliers: Vec<Outlier> = outliers.into_iter().flatten().collect();
    outliers.sort_by(|one, other| {
        one.scope
            .cmp(&other.scope)
            .then(other.worse_percent.total_cmp(&one.worse_percent))
    });
    Group {
        profile: group.profile.0.clone(),
        profile_sha256: group.profile.1.clone(),
        fingerprint: group.fingerprint.clone(),
        soft_box: group.soft_box.clone(),
        boxes: group.boxes.len(),
        devices: group.boxes.iter().map(|member| member.devices.len()).sum(),
        not_accepted: not_accepted(&group.boxes),
        outliers,
        figures,
    }
}

fn not_accepted(boxes: &[Member]) -> Vec<NotAccepted> {
    let of = |wanted: BoxVerdict| {
        boxes
            .iter()
            .filter(move |member| member.verdict == wanted)
            .map(|member| NotAccepted {
                node: member.node.clone(),
                report: member.path.clone(),
                verdict: member.verdict,
                reasons: member.reasons.clone(),
            })
    };
    of(BoxVerdict::Rejected)
        .chain(of(BoxVerdict::Inconclusive))
        .collect()
}

/// A value with what it is held against.
struct Held<'a> {
    /// Index of its box.
    member: usize,
    value: &'a Value,
    /// The median of its like.
    median: f64,
    /// How many are alike.
    alike: usize,
}

impl Held<'_> {
    /// The value as a part of the median of its like.
    fn part(&self) -> f64 {
        self.value.value / self.median
    }
}

/// One figure over all boxes, and its outliers; `None` without values.
fn figure(
    kind: &Kind,
    values: &[(usize, &Value)],
    boxes: &[Member],
) -> Option<(Figure, Vec<Outlier>)> {
    let good = values.first()?.1.good;
    let more_is_better = good == Side::AtLeast;
    let (by_place, rest) = alike(values, |value| Some(&value.about));
    // Places that few boxes have are held against others of their class.
    let (by_class, _) = alike(&rest, |value| value.class.as_ref());
    let mut held: Vec<Held> = by_place.into_iter().chain(by_class).collect();
    held.sort_by(|one, other| {
        (one.member, &one.value.about).cmp(&(other.member, &other.value.about))
    });

    let nodes = slow_boxes(&held, more_is_better);
    let beside_box = |one: &Held| {
        nodes
            .get(&one.member)
            .map_or(one.part(), |slow| one.part() / slow.part)
    };
    let parts: Vec<f64> = held.iter().map(beside_box).collect();
    let centre = Centre::of(&parts);
    let mut outliers: Vec<Outlier> = nodes
        .iter()
        .map(|(member, slow)| slow.outlier(kind, &boxes[*member]))
        .collect();
    let mut points = Vec::new();
    for (one, part) in held.iter().zip(&parts) {
        let off = centre
            .map(|centre| centre.off(*part, more_is_better))
            .filter(|off| off.is_outlier());
        points.push((one.part(), off.is_some() || nodes.contains_key(&one.member)));
        let member = &boxes[one.member];
        outliers.extend(off.map(|off| Outlier {
            scope: Scope::Device,
            node: member.node.clone(),
            report: member.path.clone(),
            devices: named(member, |label| {
                one.value.about.iter().any(|about| names(about, label))
            }),
            about: one.value.about.clone(),
            check: kind.check.clone(),
            what: kind.what.clone(),
            unit: kind.unit.clone(),
            value: Some(one.value.value),
            n: Some(one.value.n),
            median: Some(one.median),
            worse_percent: off.worse_by * 100.0,
            z: off.z,
            alike: one.alike,
        }));
    }
    let all: Vec<f64> = values.iter().map(|(_, value)| value.value).collect();
    let figure = Figure {
        check: kind.check.clone(),
        what: kind.what.clone(),
        unit: kind.unit.clone(),
        good,
        values: all.len(),
        judged: if centre.is_some() { held.len() } else { 0 },
        median: median(&all)?,
        least: all.iter().copied().fold(f64::INFINITY, f64::min),
        most: all.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        spread_percent: centre.map(|centre| centre.spread / centre.median * 100.0),
        outliers: outliers.len(),
        points,
    };
    Some((figure, outliers))
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

/// A box whose median over its places is far from that of the others.
struct Slow {
    part: f64,
    worse_percent: f64,
    z: f64,
    alike: usize,
}

impl Slow {
    fn outlier(&self, kind: &Kind, member: &Member) -> Outlier {
        Outlier {
            scope: Scope::Node,
            node: member.node.clone(),
            report: member.path.clone(),
            devices: named(member, |_| true),
            about: Vec::new(),
            check: kind.check.clone(),
            what: kind.what.clone(),
            unit: kind.unit.clone(),
            value: None,
            n: None,
            median: None,
            worse_percent: self.worse_percent,
            z: self.z,
            alike: self.alike,
        }
    }
}

/// From so many places on a box is judged as a whole: the median of fewer follows a single slow device.
const MIN_PLACES: usize = 3;

/// Boxes that are slow as a whole, by index.
fn slow_boxes(held: &[Held], more_is_better: bool) -> BTreeMap<usize, Slow> {
    let mut by_box: HashMap<usize, Vec<f64>> = HashMap::new();
    for one in held {
        by_box.entry(one.member).or_default().push(one.part());
    }
    by_box.retain(|_, parts| parts.len() >= MIN_PLACES);
    let medians: BTreeMap<usize, f64> = by_box
        .into_iter()
        .filter_map(|(member, parts)| Some((member, median(&parts)?)))
        .collect();
    let numbers: Vec<f64> = medians.values().copied().collect();
    let Some(centre) = Centre::of(&numbers) else {
        return BTreeMap::new();
    };
    let slow = medians.into_iter().filter_map(|(member, part)| {
        let off = centre.off(part, more_is_better);
        off.is_outlier().then_some((
            member,
            Slow {
                part,
                worse_percent: off.worse_by * 100.0,
                z: off.z,
                alike: numbers.len(),
            },
        ))
    });
    slow.collect()
}

/// The devices of a box that are meant.
fn named(member: &Member, is_meant: impl Fn(&str) -> bool) -> Vec<Named> {
    let meant = member
        .devices
        .iter()
        .filter(|device| is_meant(&device.label));
    meant
        .map(|device| Named {
            label: device.label.clone(),
            slot: device.slot.clone(),
            identity: device.identity.clone(),
        })
        .collect()
}

/// Whether what a check is about names a device: `GPU1`, or `GPU1->GPU12`, which does not name `GPU2`.
fn names(about: &str, label: &str) -> bool {
    about
        .split("->")
        .flat_map(|end| end.split([' ', ',']))
        .any(|word| word == label)
}

/// What is said where no outlier can be told.
pub(super) fn too_few() -> String {
    format!("fewer than {MIN_ALIKE} alike, so no outlier can be told")
}
