//! The table of a case over several sizes.

use super::cell::{ABSENT, fraction, names, of_point};
use super::ends::direction;
use super::header::{indented, numbers_right, table};
use crate::record::{Endpoint, Links, Point};
use crate::unit::ByteCount;

/// Columns that fit on a line.
const SWEEP_COLUMNS: usize = 6;

/// A row per size, a column per number, in blocks that fit on a line.
pub(super) fn sweep(points: &[&Point], sizes: &[u64], links: &Links) -> String {
    let mut columns: Vec<(Endpoint, Endpoint, &str)> = Vec::new();
    for point in points {
        let same_ends = |other: &&Point| (other.from, other.to) == (point.from, point.to);
        let of_ends: Vec<&Point> = points.iter().copied().filter(same_ends).collect();
        for name in names(&of_ends) {
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
