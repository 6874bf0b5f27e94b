//! Which boxes and devices of a fleet are slower than their like.
//!
//! Each value is taken as a part of the median of its like. Boxes are judged as a whole first, then devices by what they are beside that
//! of their box where the box itself is slow. The devices of a box are no sample of boxes: those of fewer than four boxes may be judged
//! beside each other, but none of these boxes is cleared.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use measure::exit;
use measure::stats::median;

use super::gather::Fleet;
use super::held::{self, Held, held};
use super::member::{self, Kind, Member, Value};
use super::outcome::{
    Against, Figure, Group, Named, NotAccepted, Outcome, Outlier, Point, Scope, Unreadable,
};
use super::outliers::{Centre, MATTERS, MIN_ALIKE, Off};
use super::whole::{Whole, are_most, beside_own, ends, is_pair, whole_boxes};
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

/// Rejected or slower than its like is 1, whatever else holds; undecided, fewer than expected, unreadable, not searched, nothing judged
/// beside its like, or a group of too few boxes to judge them as a whole, is 3.
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
        || groups().any(|group| !group.whole_boxes_judged)
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
    let boxes_alike = figures
        .iter()
        .map(|figure: &Figure| figure.boxes_alike)
        .max();
    let boxes_alike = boxes_alike.unwrap_or_default();
    let mut outliers: Vec<Outlier> = outliers.into_iter().flatten().collect();
    settle(&mut outliers);
    outliers.sort_by(|one, other| {
        (one.scope, one.follows_box)
            .cmp(&(other.scope, other.follows_box))
            .then(other.worse_percent.total_cmp(&one.worse_percent))
    });
    Group {
        profile: group.profile.0.clone(),
        profile_sha256: group.profile.1.clone(),
        fingerprint: group.fingerprint.clone(),
        soft_box: group.soft_box.clone(),
        boxes: group.boxes.len(),
        devices: group.boxes.iter().map(|member| member.devices.len()).sum(),
        boxes_alike,
        whole_boxes_judged: boxes_alike >= MIN_ALIKE,
        names: group.boxes.iter().map(name).collect(),
        not_accepted: not_accepted(&group.boxes),
        outliers,
        figures,
    }
}

/// A box in a picture: the folder of its report, which is short and in the order of the boxes.
fn name(member: &Member) -> String {
    let folder = Path::new(&member.path).parent().and_then(Path::file_name);
    folder.map_or_else(
        || member.node.clone(),
        |folder| folder.to_string_lossy().into_owned(),
    )
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

/// One figure over all boxes, and its outliers; `None` without values.
fn figure(
    kind: &Kind,
    values: &[(usize, &Value)],
    boxes: &[Member],
) -> Option<(Figure, Vec<Outlier>)> {
    let good = values.first()?.1.good;
    let more_is_better = good == Side::AtLeast;
    let held = held(values);
    let whole = whole_boxes(&held, more_is_better);
    let parts = beside_own(&held, &whole);
    let centre = Centre::of(&parts);
    let mut outliers: Vec<Outlier> = whole
        .iter()
        .map(|slow| of_box(slow, kind, &held, boxes))
        .collect();
    let in_whole: BTreeSet<usize> = whole
        .iter()
        .flat_map(|slow| &slow.places)
        .copied()
        .collect();
    let off: Vec<Option<Off>> = parts
        .iter()
        .map(|part| centre.map(|centre| centre.off(*part, more_is_better)))
        .map(|off| off.filter(|off| off.is_outlier()))
        .collect();
    // By box and class: how many places there are, and how many of them are slow.
    let mut slow: BTreeMap<(usize, Option<&str>), (usize, usize)> = BTreeMap::new();
    for (one, off) in held.iter().zip(&off) {
        let counts = slow.entry(one.class()).or_default();
        counts.0 += 1;
        counts.1 += usize::from(off.is_some());
    }
    let mut points = Vec::new();
    for (at, (one, off)) in held.iter().zip(off).enumerate() {
        let is_in_whole = in_whole.contains(&at);
        points.push(Point {
            member: one.member,
            part: one.part(),
            is_outlier: off.is_some() || is_in_whole,
        });
        let member = &boxes[one.member];
        let of_pairs = is_pair(&one.value.about);
        let are_most = slow
            .get(&one.class())
            .is_some_and(|(places, slow)| are_most(*places, *slow));
        outliers.extend(off.map(|off| Outlier {
            scope: Scope::Device,
            node: member.node.clone(),
            report: member.path.clone(),
            devices: named(member, |label| {
                ends(&one.value.about).any(|end| end == label)
            }),
            about: one.value.about.clone(),
            check: kind.check.clone(),
            what: kind.what.clone(),
            unit: kind.unit.clone(),
            value: one.value.value,
            n: one.value.n,
            places: 1,
            of_pairs,
            median: one.median,
            against: if is_in_whole {
                Against::OwnBox
            } else {
                Against::Like
            },
            worse_percent: off.worse_by * 100.0,
            z: off.z,
            spread: off.spread,
            alike: one.alike,
            // Whether its box is that slow is known when all figures are.
            follows_box: of_pairs && are_most && !is_in_whole,
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
        boxes_alike: held::boxes(values),
        median: median(&all)?,
        least: all.iter().copied().fold(f64::INFINITY, f64::min),
        most: all.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        spread_percent: centre.map(|centre| centre.spread / centre.median * 100.0),
        outliers: outliers.len(),
        points,
    };
    Some((figure, outliers))
}

/// A box that is slow as a whole in a figure.
fn of_box(slow: &Whole, kind: &Kind, held: &[Held], boxes: &[Member]) -> Outlier {
    let member = &boxes[slow.member];
    let values = || slow.places.iter().map(|at| held[*at].value);
    Outlier {
        scope: Scope::Node,
        node: member.node.clone(),
        report: member.path.clone(),
        devices: named(member, |_| true),
        about: Vec::new(),
        check: kind.check.clone(),
        what: kind.what.clone(),
        unit: kind.unit.clone(),
        value: slow.value,
        n: values().map(|value| value.n).sum(),
        places: slow.places.len(),
        of_pairs: values().any(|value| is_pair(&value.about)),
        median: slow.median,
        against: slow.against,
        worse_percent: slow.off.worse_by * 100.0,
        z: slow.off.z,
        spread: slow.off.spread,
        alike: slow.alike,
        follows_box: false,
    }
}

/// Of the pairs that are like most of their box, those follow from it that are no worse than it is as a whole, but for what does not matter.
fn settle(outliers: &mut [Outlier]) {
    let mut worst: BTreeMap<String, f64> = BTreeMap::new();
    for one in outliers.iter().filter(|one| one.scope == Scope::Node) {
        let worst = worst.entry(one.report.clone()).or_default();
        *worst = worst.max(one.worse_percent);
    }
    for one in outliers {
        one.follows_box &= worst
            .get(&one.report)
            .is_some_and(|worst| one.worse_percent <= worst + MATTERS * 100.0);
    }
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

/// What is said where no outlier can be told.
pub(super) fn too_few() -> String {
    format!("fewer than {MIN_ALIKE} alike, so no outlier can be told")
}
