//! One case: a row per device, a matrix over pairs, or a row per size.

use super::cell::{ABSENT, fraction, names, of_point, significant};
use super::header::{indented, numbers_right, table};
use super::notes::notes;
use super::record::line;
use crate::quantity::Quantity;
use crate::record::{Endpoint, Links, Outcome, Point, Verification};
use crate::unit::ByteCount;

/// Columns of a sweep that fit on a line.
const SWEEP_COLUMNS: usize = 6;

pub(super) fn case(key: &str, points: &[&Point], links: &Links, soft: bool) -> String {
    let sizes = sizes(points);
    let mark = if soft { " [simulated]" } else { "" };
    let one_size = match sizes[..] {
        [size] => format!(", {} a copy", ByteCount(size)),
        _ => String::new(),
    };
    let mut text = String::new();
    let is_sweep = sizes.len() > 1;
    let has_fraction = points.iter().any(|point| {
        names(&[point])
            .into_iter()
            .any(|name| fraction(point, name).is_some())
    });
    let mut also = if is_sweep {
        counts(points)
    } else {
        String::new()
    };
    if is_sweep && has_fraction {
        also.push_str(", % of the ceiling");
    }
    if let Some(reason) = same_refusal(points) {
        line(&mut text, &format!("{key}{mark}: {reason}"));
        return text;
    }
    line(
        &mut text,
        &format!("{key}{mark}: GB/s{one_size}, median ± wider side of its 95% interval{also}"),
    );
    let is_pair = points.iter().any(|point| pair(point).is_some());
    if is_sweep {
        text.push_str(&sweep(points, &sizes, links));
    } else if is_pair {
        text.push_str(&matrix(points, links));
    } else {
        text.push_str(&rows(points, links));
    }
    if names(points).contains(&"total") {
        line(
            &mut text,
            "  total: both directions' bytes from the first start to the last end",
        );
    }
    notes(points, links, is_sweep)
        .iter()
        .for_each(|note| line(&mut text, &format!("  {note}")));
    text
}

/// `, n=6` or `, n=6..20`: how many samples the numbers have.
fn counts(points: &[&Point]) -> String {
    let counts = points.iter().flat_map(|point| {
        names(&[point])
            .into_iter()
            .filter_map(|name| number(point, name))
    });
    let counts: Vec<usize> = counts.map(|quantity| quantity.n).collect();
    match (counts.iter().min(), counts.iter().max()) {
        (Some(least), Some(most)) if least == most => format!(", n={least}"),
        (Some(least), Some(most)) => format!(", n={least}..{most}"),
        _ => String::new(),
    }
}

fn sizes(points: &[&Point]) -> Vec<u64> {
    let mut sizes: Vec<u64> = points.iter().map(|point| point.bytes).collect();
    sizes.sort_unstable();
    sizes.dedup();
    sizes
}

pub(super) fn pair(point: &Point) -> Option<(usize, usize)> {
    match (point.from, point.to) {
        (Endpoint::Device(from), Endpoint::Device(to)) if from != to => Some((from, to)),
        _ => None,
    }
}

/// The one reason why no point of the case was measured.
fn same_refusal(points: &[&Point]) -> Option<String> {
    let reason = |point: &&Point| match &point.outcome {
        Outcome::NotApplicable { reason } => Some(format!("not applicable, {reason}")),
        Outcome::Skipped { reason } => Some(format!("skipped, {reason}")),
        _ => None,
    };
    let first = points.first().and_then(reason)?;
    points
        .iter()
        .all(|point| reason(point).as_ref() == Some(&first))
        .then_some(first)
}

fn label(links: &Links, end: Endpoint) -> String {
    match end {
        Endpoint::Host => "host".to_owned(),
        Endpoint::Device(position) => links
            .devices
            .get(position)
            .map_or("?".to_owned(), |device| device.label.clone()),
    }
}

/// What a number of a point is called: its ends in the direction that it stands for.
pub(super) fn direction(point: &Point, name: &str, links: &Links) -> String {
    let (from, to) = (label(links, point.from), label(links, point.to));
    match name {
        "back" => format!("{to} to {from}"),
        "total" => format!("{from} and {to}, total"),
        _ if point.from == point.to => from,
        _ => format!("{from} to {to}"),
    }
}

/// A column of a case's rows.
struct Column {
    title: &'static str,
    /// Its cell for a number of a point; empty where it has none.
    cell: fn(&Point, &str) -> String,
}

/// The columns right of the number itself; one that is empty in every row is left out.
const COLUMNS: [Column; 6] = [
    Column {
        title: "interval",
        cell: interval,
    },
    Column {
        title: "n",
        cell: |point, name| number(point, name).map_or_else(String::new, |q| q.n.to_string()),
    },
    Column {
        title: "ceiling",
        cell: ceiling,
    },
    Column {
        title: "of it",
        cell: |point, name| fraction(point, name).unwrap_or_default(),
    },
    Column {
        title: "link",
        cell: link,
    },
    Column {
        title: "host memory",
        cell: |point, _| host_memory(point),
    },
];

/// A row per number: for cases with one device each.
fn rows(points: &[&Point], links: &Links) -> String {
    let numbers: Vec<(&Point, &str)> = points
        .iter()
        .flat_map(|point| names(&[point]).into_iter().map(move |name| (*point, name)))
        .collect();
    let columns: Vec<&Column> = COLUMNS
        .iter()
        .filter(|column| {
            numbers
                .iter()
                .any(|(point, name)| !(column.cell)(point, name).is_empty())
        })
        .collect();
    let mut table = table();
    table.set_header(
        ["", "GB/s"]
            .into_iter()
            .chain(columns.iter().map(|column| column.title)),
    );
    for (point, name) in numbers {
        let or_absent = |text: String| {
            if text.is_empty() {
                ABSENT.to_owned()
            } else {
                text
            }
        };
        let cells = columns
            .iter()
            .map(|column| or_absent((column.cell)(point, name)));
        table.add_row(
            [direction(point, name, links), of_point(point, name)]
                .into_iter()
                .chain(cells),
        );
    }
    numbers_right(&mut table);
    for (index, column) in columns.iter().enumerate() {
        if ["link", "host memory"].contains(&column.title)
            && let Some(column) = table.column_mut(index + 2)
        {
            column.set_cell_alignment(comfy_table::CellAlignment::Left);
        }
    }
    indented(&table)
}

/// A number of a point that stands for something.
fn number<'a>(point: &'a Point, name: &str) -> Option<&'a Quantity> {
    match &point.outcome {
        Outcome::Measured {
            quantities,
            verification,
            ..
        } if !is_wrong(verification) => quantities
            .iter()
            .find(|named| named.name == name)
            .map(|named| &named.quantity),
        _ => None,
    }
}

fn interval(point: &Point, name: &str) -> String {
    let interval = number(point, name).and_then(|quantity| quantity.interval);
    interval.map_or_else(String::new, |i| {
        format!("{} .. {}", significant(i.low), significant(i.high))
    })
}

fn ceiling(point: &Point, name: &str) -> String {
    let Outcome::Measured { link, .. } = &point.outcome else {
        return String::new();
    };
    let doubled = if name == "total" { 2.0 } else { 1.0 };
    link.ceiling_gb_per_s
        .map_or_else(String::new, |ceiling| significant(ceiling * doubled))
}

fn link(point: &Point, _name: &str) -> String {
    match &point.outcome {
        Outcome::Measured { link, .. } if link.ceiling_gb_per_s.is_some() => link.basis.clone(),
        _ => String::new(),
    }
}

/// The node that is proven, or the one that was wanted and is not.
fn host_memory(point: &Point) -> String {
    let Outcome::Measured {
        placement: Some(placement),
        ..
    } = &point.outcome
    else {
        return String::new();
    };
    match (placement.proven, placement.wanted) {
        (Some(node), _) => format!("node {node}"),
        (None, Some(node)) => format!("node {node} wanted, unproven"),
        (None, None) => "node unknown".to_owned(),
    }
}

fn is_wrong(verification: &Verification) -> bool {
    matches!(verification, Verification::WrongData { .. })
}

/// Source by row, destination by column; each cell with the path class and the fraction of the ceiling below it.
fn matrix(points: &[&Point], links: &Links) -> String {
    let mut table = table();
    let both_ways = names(points).contains(&"back");
    let labels = || links.devices.iter().map(|device| device.label.clone());
    table.set_header(std::iter::once("from \\ to".to_owned()).chain(labels()));
    for (from, label) in labels().enumerate() {
        let cell = |to: usize| {
            let found = points.iter().find_map(|point| match pair(point) {
                Some(ends) if ends == (from, to) => {
                    Some((point, if both_ways { "forward" } else { "bandwidth" }))
                }
                Some(ends) if both_ways && ends == (to, from) => Some((point, "back")),
                _ => None,
            });
            found.map_or_else(
                || ABSENT.to_owned(),
                |(point, name)| under(point, name, links.path(from, to).name()),
            )
        };
        table.add_row(std::iter::once(label).chain((0..links.devices.len()).map(cell)));
    }
    numbers_right(&mut table);
    let mut text = indented(&table);
    let total = |point: &&&Point| names(&[point]).contains(&"total");
    for point in points.iter().filter(total) {
        let path = pair(point).map_or("", |(a, b)| links.path(a, b).name());
        let total = under(point, "total", path).replace('\n', ", ");
        line(
            &mut text,
            &format!("  {}: {total}", direction(point, "total", links)),
        );
    }
    text
}

/// A number with path class and fraction on a second line, where it is a number.
fn under(point: &Point, name: &str, path: &str) -> String {
    let value = of_point(point, name);
    let fraction =
        fraction(point, name).map_or_else(String::new, |fraction| format!(" {fraction}"));
    match number(point, name) {
        Some(quantity) => format!("{value}\n{path}{fraction} n={}", quantity.n),
        None => value,
    }
}

/// A row per size, a column per number, in blocks that fit on a line.
fn sweep(points: &[&Point], sizes: &[u64], links: &Links) -> String {
    let mut columns: Vec<(Endpoint, Endpoint, &str)> = Vec::new();
    for point in points {
        for name in names(points) {
            if !columns.contains(&(point.from, point.to, name)) {
                columns.push((point.from, point.to, name));
            }
        }
    }
    let mut text = String::new();
    for block in columns.chunks(SWEEP_COLUMNS) {
        let mut table = table();
        let at = |column: &(Endpoint, Endpoint, &str), bytes: Option<u64>| {
            let same = |point: &&&Point| {
                (point.from, point.to) == (column.0, column.1)
                    && bytes.is_none_or(|b| b == point.bytes)
            };
            points.iter().find(same).copied()
        };
        let titles = block.iter().map(|column| {
            at(column, None).map_or_else(String::new, |point| direction(point, column.2, links))
        });
        table.set_header(std::iter::once("size".to_owned()).chain(titles));
        for bytes in sizes {
            let cell = |column: &(Endpoint, Endpoint, &str)| {
                let Some(point) = at(column, Some(*bytes)) else {
                    return ABSENT.to_owned();
                };
                let fraction = fraction(point, column.2)
                    .map_or_else(String::new, |fraction| format!(" {fraction:>4}"));
                of_point(point, column.2) + &fraction
            };
            table.add_row(
                std::iter::once(ByteCount(*bytes).to_string()).chain(block.iter().map(cell)),
            );
        }
        numbers_right(&mut table);
        text.push_str(&indented(&table));
    }
    text
}
