//! The numbers by place: rows are where memory and thread were, columns are kinds of memory.

use super::super::cell::{ABSENT, quantity};
use super::super::header::{indented, numbers_right, table};
use super::super::notes::sums;
use super::super::record::line;
use super::{direction_and_kind, direction_words, label};
use crate::caveat::Caveat;
use crate::quantity::Quantity;
use crate::record::{Numa, NumaPoint, Outcome, Verification};
use crate::unit::ByteCount;

/// Node of the memory and node of the thread.
type Place = (Option<u32>, Option<u32>);

/// What the tables show of a point: the name of the number, what it is, and whether it belongs to small copies.
const SHOWN: [(&str, &str, bool); 2] = [
    ("bandwidth", "GB/s", false),
    ("pace", "us for a copy of 16 B, one after the other", true),
];

/// The tables of all devices.
pub(super) fn tables(numa: &Numa, mark: &str) -> String {
    let mut text = String::new();
    for (name, unit, small) in SHOWN {
        for group in alike(numa, name, small) {
            for direction in ["h2d", "d2h"] {
                let points: Vec<&NumaPoint> = points(numa, name, small)
                    .filter(|point| point.device == group[0])
                    .filter(|point| direction_and_kind(point).0 == direction)
                    .collect();
                if points.is_empty() {
                    continue;
                }
                let size = match (small, points[0].bytes) {
                    (true, _) => String::new(),
                    (false, bytes) => format!(", {} a copy", ByteCount(bytes)),
                };
                let names: Vec<String> = group.iter().map(|device| label(numa, *device)).collect();
                let title = format!(
                    "\n{}, {}{mark}: {unit}{size}, median ± wider side of its 95% interval{}",
                    names.join(", "),
                    direction_words(direction),
                    counts(&points, name),
                );
                line(&mut text, &title);
                text.push_str(&by_place(numa, &points, name));
                if group.len() > 1 {
                    line(
                        &mut text,
                        &format!(
                            "  the numbers of {}; those of the others lie within 2% of them",
                            names[0]
                        ),
                    );
                }
                notes(&points)
                    .iter()
                    .chain(&reservations(&points, name))
                    .for_each(|note| line(&mut text, &format!("  {note}")));
            }
        }
    }
    text
}

/// The points that a table is made of: bandwidths of the largest size, or small copies.
fn points<'a>(
    numa: &'a Numa,
    name: &'a str,
    small: bool,
) -> impl Iterator<Item = &'a NumaPoint> + use<'a> {
    let size = numa.copy_bytes;
    numa.points.iter().filter(move |point| {
        let is_small = point.case.starts_with("small_copy_");
        let is_measured = matches!(point.outcome, Outcome::Measured { .. });
        is_small == small
            && (small || Some(point.bytes) == size)
            && (!is_measured || point.number(name).is_some() || is_wrong(point))
    })
}

/// Devices in groups of those on one node whose numbers are all alike.
pub(super) fn alike(numa: &Numa, name: &str, small: bool) -> Vec<Vec<usize>> {
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for device in 0..numa.devices.len() {
        let fits = |group: &&mut Vec<usize>| {
            numa.devices[group[0]].node == numa.devices[device].node
                && is_alike(numa, group[0], device, name, small)
        };
        match groups.iter_mut().find(fits) {
            Some(group) => group.push(device),
            None => groups.push(vec![device]),
        }
    }
    groups
}

/// Whether two devices have the same points, with numbers within 2%.
fn is_alike(numa: &Numa, a: usize, b: usize, name: &str, small: bool) -> bool {
    let of = |device| points(numa, name, small).filter(move |point| point.device == device);
    let key = |point: &NumaPoint| (point.case.clone(), point.memory_node, point.thread_node);
    let matches = |point: &NumaPoint| {
        let other = of(b).find(|other| key(other) == key(point));
        other.is_some_and(|other| {
            point.is_proven() == other.is_proven()
                && match (point.number(name), other.number(name)) {
                    (Some(a), Some(b)) => is_near(a, b),
                    (None, None) => {
                        std::mem::discriminant(&point.outcome)
                            == std::mem::discriminant(&other.outcome)
                            && !is_wrong(point)
                            && !is_wrong(other)
                    }
                    _ => false,
                }
        })
    };
    of(a).count() == of(b).count() && of(a).all(matches)
}

/// Intervals that overlap say nothing here: the noisier a run, the more would be alike.
fn is_near(a: &Quantity, b: &Quantity) -> bool {
    (a.value - b.value).abs() <= 0.02 * a.value.abs()
}

fn is_wrong(point: &NumaPoint) -> bool {
    matches!(
        point.outcome,
        Outcome::Measured {
            verification: Verification::WrongData { .. },
            ..
        }
    )
}

fn by_place(numa: &Numa, all: &[&NumaPoint], name: &str) -> String {
    let (mut places, mut kinds): (Vec<Place>, Vec<&str>) = (Vec::new(), Vec::new());
    for point in all {
        let place = (point.memory_node, point.thread_node);
        if !places.contains(&place) {
            places.push(place);
        }
        let kind = direction_and_kind(point).1;
        if !kinds.contains(&kind) {
            kinds.push(kind);
        }
    }
    let home = all
        .first()
        .and_then(|point| numa.devices.get(point.device)?.node);
    let mut table = table();
    let columns = kinds.iter().map(|kind| kind_words(kind).to_owned());
    let title = ["memory on", "thread on"].map(str::to_owned);
    table.set_header(title.into_iter().chain(columns));
    for place in places {
        let cell = |kind: &&str| {
            let is_it = |point: &&&NumaPoint| {
                (point.memory_node, point.thread_node) == place
                    && direction_and_kind(point).1 == *kind
            };
            let point = all.iter().find(is_it);
            point.map_or_else(|| ABSENT.to_owned(), |point| cell(point, name))
        };
        let row = [node_words(place.0, home), node_words(place.1, home)];
        table.add_row(row.into_iter().chain(kinds.iter().map(cell)));
    }
    numbers_right(&mut table);
    for index in 0..2 {
        if let Some(column) = table.column_mut(index) {
            column.set_cell_alignment(comfy_table::CellAlignment::Left);
        }
    }
    indented(&table)
}

/// A number, or a word for why there is none of this place.
fn cell(point: &NumaPoint, name: &str) -> String {
    match &point.outcome {
        Outcome::Measured { .. } if is_wrong(point) => "WRONG DATA".to_owned(),
        Outcome::Measured { .. } => match (point.number(name), point.is_proven()) {
            (Some(number), true) => quantity(number),
            // A number in this row would be read as one of this place.
            (Some(_), false) => "not proven".to_owned(),
            (None, _) => ABSENT.to_owned(),
        },
        Outcome::NotApplicable { .. } => ABSENT.to_owned(),
        Outcome::Skipped { .. } => "skipped".to_owned(),
        Outcome::Failed { .. } => "FAILED".to_owned(),
        Outcome::Hang { .. } => "HANG".to_owned(),
    }
}

pub(super) fn kind_words(kind: &str) -> &str {
    match kind {
        "wc" => "write-comb.",
        "huge" => "huge pages",
        other => other,
    }
}

pub(super) fn node_words(node: Option<u32>, home: Option<u32>) -> String {
    match node {
        Some(node) if Some(node) == home => format!("node {node} (near)"),
        Some(node) => format!("node {node}"),
        None => "any".to_owned(),
    }
}

/// `; n=20`, or the least and the most.
fn counts(points: &[&NumaPoint], name: &str) -> String {
    let counts = points.iter().filter_map(|point| point.number(name));
    let counts: Vec<usize> = counts.map(|quantity| quantity.n).collect();
    match (counts.iter().min(), counts.iter().max()) {
        (Some(least), Some(most)) if least == most => format!("; n={least}"),
        (Some(least), Some(most)) => format!("; n={least}..{most}"),
        _ => String::new(),
    }
}

/// Why cells are no numbers, or not numbers of their place, each reason once with how many cells it concerns.
fn notes(points: &[&NumaPoint]) -> Vec<String> {
    let mut notes: Vec<(String, usize)> = Vec::new();
    for note in points.iter().filter_map(|point| note(point)) {
        match notes.iter_mut().find(|(known, _)| *known == note) {
            Some((_, count)) => *count += 1,
            None => notes.push((note, 1)),
        }
    }
    let with_count = |(note, count): (String, usize)| match count {
        1 => note,
        count => format!("{note} ({count} cells)"),
    };
    notes.into_iter().map(with_count).collect()
}

/// The widest interval and far samples of the numbers that are shown, where they are worth a line.
fn reservations(points: &[&NumaPoint], name: &str) -> Vec<String> {
    let shown: Vec<&Quantity> = points
        .iter()
        .filter_map(|point| point.proven(name))
        .collect();
    let widths = shown
        .iter()
        .filter_map(|quantity| quantity.relative_half_width());
    let widest = widths.fold(0.0, f64::max);
    let caveat = Caveat::WideInterval {
        relative_half_width: Some(widest),
        stopped: None,
    };
    let wide: &[&Caveat] = if widest > WIDE { &[&caveat] } else { &[] };
    sums(wide, shown.into_iter())
}

/// Wider intervals are worth a word.
const WIDE: f64 = 0.05;

fn note(point: &NumaPoint) -> Option<String> {
    let kind = kind_words(direction_and_kind(point).1);
    Some(match &point.outcome {
        Outcome::NotApplicable { reason } => format!("{kind}: not applicable, {reason}"),
        Outcome::Skipped { reason } => format!("{kind}: skipped, {reason}"),
        Outcome::Failed { reason } => format!("{kind}: FAILED: {reason}"),
        Outcome::Hang { doing } => format!("{kind}: HANG while {doing}"),
        Outcome::Measured {
            verification: Verification::WrongData { seen },
            ..
        } => format!("{kind}: WRONG DATA: {seen}; the number stands for nothing"),
        Outcome::Measured { placement, .. } if !point.is_proven() => {
            let memory = placement.as_ref().filter(|place| place.wanted.is_some());
            let thread = point.thread.as_ref();
            let words = |what: &str, place: &crate::record::Placement| match place.proven {
                found if found == place.wanted => None,
                Some(node) => Some(format!("{what} was on node {node}")),
                None => Some(format!("{what}: {}", place.basis)),
            };
            let parts = [
                memory.and_then(|place| words("memory", place)),
                thread.and_then(|place| words("thread", place)),
            ];
            let refused = point.caveats.iter().filter_map(|caveat| match caveat {
                Caveat::PlacementUnproven { reason } | Caveat::NotBound { reason, .. } => {
                    Some(reason.clone())
                }
                _ => None,
            });
            let mut parts: Vec<String> = parts.into_iter().flatten().collect();
            for reason in refused {
                if !parts.iter().any(|part| part.contains(&reason)) {
                    parts.push(reason);
                }
            }
            let parts = if parts.is_empty() {
                "where memory and thread were was not told".to_owned()
            } else {
                parts.join("; ")
            };
            format!("{kind}: not proven to be of its place, so left out: {parts}")
        }
        Outcome::Measured { .. } => return None,
    })
}
