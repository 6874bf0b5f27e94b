//! A matrix of nvbandwidth as values: which test is which case of ours, what a cell stands for, which cells are absent, and what
//! cannot be.
//!
//! The arrows in its headers are not read: a write prints `GPU(row) <- GPU(column)` while data moves from row to column, a
//! read the other way round. In both the row's device issues the copy. Its `all_to_one_read` moves data from the one device
//! to all, read by each of them (and prints "outbound"), so it is our `one_to_all_read`, and the other way round. Source:
//! nvbandwidth v0.8, testcases_ce.cpp, testcases_sm.cpp, testcase.cpp.

use crate::links::value::{LinkEnds, LinkFile, LinkTrouble, LinkValue, TroubleKind, role};
use End::{All, Column, Host, Row};
use record::Endpoint;
use record::control::replaced;
use record::quantity::Unit;
use stats::median_interval;

/// An end of what a cell stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Host,
    All,
    /// The row's device.
    Row,
    /// The column's device.
    Column,
}

/// What the cells of a matrix stand for: what tells its header from those of the other matrices of its test, the ends, and the name of
/// our number, behind which the column stands where it ends with `_`.
type Cell = (&'static str, End, End, &'static str);

/// Both ways at once. The sum of both rates is more than our total of bytes over the time of both where one ends first.
#[rustfmt::skip]
const BOTH_WAYS: [Cell; 3] = [
    ("1 bandwidth", Row, Column, "back"), ("2 bandwidth", Row, Column, "forward"), ("Total", Row, Column, "sum"),
];

/// nvbandwidth's name of a test, our case's key, and its matrices; `@` stands for the engine.
#[rustfmt::skip]
const TESTS: [(&str, &str, &[Cell]); 19] = [
    ("host_to_device_memcpy_@", "h2d_pinned_@", &[("", Host, Column, "bandwidth")]),
    ("device_to_host_memcpy_@", "d2h_pinned_@", &[("", Column, Host, "bandwidth")]),
    ("host_to_device_bidirectional_memcpy_@", "host_bidir_pinned_@", &[("", Host, Column, "forward")]),
    ("device_to_host_bidirectional_memcpy_@", "host_bidir_pinned_@", &[("", Host, Column, "back")]),
    ("device_to_device_memcpy_read_@", "d2d_read_@", &[("", Column, Row, "bandwidth")]),
    ("device_to_device_memcpy_write_@", "d2d_write_@", &[("", Row, Column, "bandwidth")]),
    ("device_to_device_bidirectional_memcpy_read_@", "d2d_bidir_read_@", &BOTH_WAYS),
    ("device_to_device_bidirectional_memcpy_write_@", "d2d_bidir_write_@", &BOTH_WAYS),
    ("all_to_host_memcpy_@", "all_to_host_@", &[("", All, Host, "share_")]),
    ("all_to_host_bidirectional_memcpy_@", "host_all_bidir_@", &[("", Host, All, "back_")]),
    ("host_to_all_memcpy_@", "host_to_all_@", &[("", Host, All, "share_")]),
    ("host_to_all_bidirectional_memcpy_@", "host_all_bidir_@", &[("", Host, All, "forward_")]),
    ("all_to_one_write_@", "all_to_one_write_@", &[("", All, Column, "total")]),
    ("all_to_one_read_@", "one_to_all_read_@", &[("", Column, All, "total")]),
    ("one_to_all_write_@", "one_to_all_write_@", &[("", Column, All, "total")]),
    ("one_to_all_read_@", "all_to_one_read_@", &[("", All, Column, "total")]),
    ("host_device_latency_sm", "host_chase_sm", &[("", Host, Column, "latency")]),
    ("device_to_device_latency_sm", "d2d_chase_sm", &[("", Row, Column, "latency")]),
    ("device_local_copy", "local_ce", &[("", Column, Column, "bandwidth")]),
];

/// The case and the matrices of a test; `None` where it is none of ours.
fn named(name: &str) -> Option<(String, &'static [Cell])> {
    ["ce", "sm"].into_iter().find_map(|engine| {
        let (_, case, cells) = TESTS
            .iter()
            .find(|(test, ..)| test.replace('@', engine) == name)?;
        Some((case.replace('@', engine), *cells))
    })
}

/// Where the data of a cell comes from and goes to, and the name of our number; devices by row and column.
fn ends(cell: &Cell, row: usize, column: usize) -> (Endpoint, Endpoint, String) {
    let end = |end: End| match end {
        Host => Endpoint::Host,
        All => Endpoint::All,
        Row => Endpoint::Device(row),
        Column => Endpoint::Device(column),
    };
    let name = match cell.3.ends_with('_') {
        true => format!("{}{column}", cell.3),
        false => cell.3.to_owned(),
    };
    (end(cell.1), end(cell.2), name)
}

/// Whether the matrix has a row for each device, not one alone.
fn has_rows(cell: &Cell) -> bool {
    [cell.1, cell.2].contains(&Row)
}

/// A matrix as it stands in a file.
pub(super) struct Matrix {
    /// The test's name.
    pub(super) name: String,
    /// What stands above it.
    pub(super) description: String,
    /// Its cells as texts.
    pub(super) rows: Vec<Vec<String>>,
    /// Samples of single copies with their ends, which only the verbose text has.
    pub(super) samples: Vec<(Endpoint, Endpoint, f64)>,
}

/// A trouble of a test.
pub(super) fn trouble(file: &mut LinkFile, kind: TroubleKind, test: Option<&str>, detail: &str) {
    let (case, cells) = test.and_then(named).unzip();
    let cells = cells.into_iter().flatten();
    file.troubles.push(LinkTrouble {
        test: case.or_else(|| test.map(replaced)),
        roles: cells.map(|cell| role(cell.3).to_owned()).collect(),
        ..LinkTrouble::of_file(kind, replaced(detail))
    });
}

impl Matrix {
    /// Adds its values to a file, and a trouble for what cannot be used.
    pub(super) fn add_to(&self, file: &mut LinkFile) {
        let Some((case, cells)) = named(&self.name) else {
            let words = format!("{}: not read here, its numbers are left out", self.name);
            return trouble(file, TroubleKind::Absent, Some(&self.name), &words);
        };
        let columns = self.rows.first().map_or(0, Vec::len);
        let is_even = self.rows.iter().all(|row| row.len() == columns);
        let (rows, columns) = (self.rows.len(), if is_even { columns } else { 0 });
        let each = if has_rows(&cells[0]) { columns } else { 1 };
        // Three of them stand below each other in the JSON of a test of both ways; in text each has its own header.
        let own = || {
            cells
                .iter()
                .filter(|cell| self.description.contains(cell.0))
        };
        let cells: Vec<&Cell> = match rows {
            _ if columns == 0 => Vec::new(),
            rows if rows == each * cells.len() => cells.iter().collect(),
            rows if rows == each && own().count() == 1 => own().collect(),
            _ => Vec::new(),
        };
        if cells.is_empty() {
            let words = format!(
                "{}: a matrix of {rows} rows and {columns} columns, not of {each} rows: the file is cut off or not nvbandwidth's; its numbers are left out",
                self.name
            );
            return trouble(file, TroubleKind::File, Some(&self.name), &words);
        }
        for (cell, rows) in cells.into_iter().zip(self.rows.chunks(each)) {
            for (row, texts) in rows.iter().enumerate() {
                for (column, text) in texts.iter().enumerate() {
                    self.add_cell(file, &case, cell, (row, column), text.trim());
                }
            }
        }
    }

    fn add_cell(
        &self,
        file: &mut LinkFile,
        case: &str,
        cell: &Cell,
        (row, column): (usize, usize),
        text: &str,
    ) {
        let (from, to, name) = ends(cell, row, column);
        let value = text.parse::<f64>().ok();
        let is_absent = text == "N/A";
        // Old versions print 0.00 for a device and itself.
        if has_rows(cell) && row == column && (is_absent || value == Some(0.0)) {
            return;
        }
        let Some(value) = value.filter(|value| value.is_finite() && *value > 0.0) else {
            let place = format!("{}, row {row}, column {column}", self.name);
            let (kind, detail) = match is_absent {
                true => (
                    TroubleKind::NotApplicable,
                    format!("{place} is N/A: it does not apply there"),
                ),
                false => (
                    TroubleKind::File,
                    format!("{place} is `{text}`, which is no measurement; it is left out"),
                ),
            };
            file.troubles.push(LinkTrouble {
                test: Some(case.to_owned()),
                roles: vec![role(&name).to_owned()],
                ends: Some((from, to)),
                ..LinkTrouble::of_file(kind, replaced(&detail))
            });
            return;
        };
        let is_its = |sample: &&(Endpoint, Endpoint, f64)| {
            // Those of a copy that ran alone.
            name == "bandwidth" && (sample.0, sample.1) == (from, to)
        };
        let samples: Vec<f64> = self
            .samples
            .iter()
            .filter(is_its)
            .map(|one| one.2)
            .collect();
        file.values.push(LinkValue {
            value,
            unit: match cell.3 {
                "latency" => Unit::Nanoseconds,
                _ => Unit::GbPerS,
            },
            interval: median_interval(&samples),
            n: Some(samples.len() as u64).filter(|n| *n > 0),
            samples,
            bytes: None,
            is_judged: true,
            ends: LinkEnds {
                test: case.to_owned(),
                from,
                to,
                name,
            },
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Endpoint::Device;

    #[test]
    fn what_moves_is_told_by_the_test_and_not_by_the_arrow() {
        let first = |name: &str| {
            let (case, cells) = named(name).unwrap();
            (case, ends(&cells[0], 0, 1))
        };
        let of = |case: &str, from, to, name: &str| (case.to_owned(), (from, to, name.to_owned()));
        // Row 0, column 1: a write goes from 0 to 1, a read from 1 to 0, whichever way the arrow of the header points.
        assert_eq!(
            first("device_to_device_memcpy_write_ce"),
            of("d2d_write_ce", Device(0), Device(1), "bandwidth")
        );
        assert_eq!(
            first("device_to_device_memcpy_read_sm"),
            of("d2d_read_sm", Device(1), Device(0), "bandwidth")
        );
        // Reads of many are named after their issuers there.
        assert_eq!(
            first("all_to_one_read_ce"),
            of("one_to_all_read_ce", Device(1), Endpoint::All, "total")
        );
        assert_eq!(
            first("host_to_all_memcpy_ce"),
            of("host_to_all_ce", Endpoint::Host, Endpoint::All, "share_1")
        );
        assert!(named("multinode_device_to_device_memcpy_read_ce").is_none());
    }
}
