//! The rows of a case: one for each number, with what stands behind it.

use super::cell::{ABSENT, fraction, names, number, of_point, significant};
use super::ends::direction;
use super::header::{indented, numbers_right, table};
use crate::record::{Links, Outcome, Point};

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

/// A row per number: for cases with one device each, or with several at once.
pub(super) fn rows(points: &[&Point], links: &Links, unit: &str) -> String {
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
        ["", unit]
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
    link.ceiling(name).map_or_else(String::new, significant)
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
