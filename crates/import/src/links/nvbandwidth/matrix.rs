//! A matrix of nvbandwidth as values: which cell is which number, which cells are absent, and what cannot be.

use super::table::{Cell, Test, named};
use crate::links::trouble::TroubleKind;
use crate::links::value::{LinkEnds, LinkFile, LinkTrouble, LinkValue, role};
use record::Endpoint;
use record::control::replaced;
use stats::median_interval;

/// A matrix as it stands in a file.
pub(super) struct Matrix {
    /// The test's name, with or without the suffix of one matrix.
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
    let matrices = test.map(named).unwrap_or_default();
    let case = matrices.first().map(|matrix| matrix.case.clone());
    let role_of = |matrix: &&Test| role(&matrix.cell.ends(0, 0).2).to_owned();
    file.troubles.push(LinkTrouble {
        kind,
        test: case.or_else(|| test.map(replaced)),
        roles: matrices.iter().map(role_of).collect(),
        ends: None,
        bytes: None,
        detail: replaced(detail),
    });
}

impl Matrix {
    /// Adds its values to a file, and a trouble for what cannot be used.
    pub(super) fn add_to(&self, file: &mut LinkFile) {
        let tests = named(&self.name);
        if tests.is_empty() {
            let words = format!("{}: not read here, its numbers are left out", self.name);
            return trouble(file, TroubleKind::Absent, Some(&self.name), &words);
        }
        let blocks = self.blocks(&tests);
        if blocks.is_empty() {
            let (rows, columns) = self.shape();
            let cell = tests[0].cell;
            let want = if cell.is_row() { 1 } else { columns };
            let words = format!(
                "{}: a matrix of {rows} rows and {columns} columns, not of {want} rows: the file is cut off or not nvbandwidth's; its numbers are left out",
                self.name
            );
            return trouble(file, TroubleKind::File, Some(&self.name), &words);
        }
        for (test, rows) in blocks {
            self.add_block(file, test, rows);
        }
    }

    /// Rows, and the columns that every row has; no columns where rows differ.
    fn shape(&self) -> (usize, usize) {
        let columns = self.rows.first().map_or(0, Vec::len);
        let same = self.rows.iter().all(|row| row.len() == columns);
        (self.rows.len(), if same { columns } else { 0 })
    }

    /// The rows of each matrix: three of them stand below each other in the JSON of a test of both ways, which the header
    /// of the last stands for.
    fn blocks<'a>(&'a self, tests: &[&'static Test]) -> Vec<(&'static Test, &'a [Vec<String>])> {
        let (rows, columns) = self.shape();
        let Some(first) = tests.first() else {
            return Vec::new();
        };
        let each = if first.cell.is_row() { 1 } else { columns };
        if columns == 0 || each == 0 {
            return Vec::new();
        }
        let whole = |tests: &[&'static Test]| {
            tests
                .iter()
                .copied()
                .zip(self.rows.chunks(each))
                .collect::<Vec<_>>()
        };
        if rows == each * tests.len() {
            return whole(tests);
        }
        // In text each matrix has its own header, and an N-row matrix of the bare name is the total.
        let own: Vec<&Test> = tests
            .iter()
            .copied()
            .filter(|test| test.description == self.description)
            .collect();
        if rows == each && own.len() == 1 {
            return whole(&own);
        }
        Vec::new()
    }

    fn add_block(&self, file: &mut LinkFile, test: &'static Test, rows: &[Vec<String>]) {
        for (row, cells) in rows.iter().enumerate() {
            for (column, text) in cells.iter().enumerate() {
                let (from, to, name) = test.cell.ends(row, column);
                let place = Place {
                    test: &test.case,
                    words: format!("{}{}, row {row}, column {column}", test.name, test.suffix),
                    ends: (from, to),
                    name: &name,
                    is_diagonal: !test.cell.is_row() && row == column,
                };
                let Some(value) = place.number(file, text) else {
                    continue;
                };
                let samples = self.samples_of(test.cell, from, to);
                file.values.push(LinkValue {
                    ends: LinkEnds {
                        test: test.case.clone(),
                        from,
                        to,
                        name,
                    },
                    value,
                    unit: test.cell.unit(),
                    interval: median_interval(&samples),
                    n: Some(samples.len() as u64).filter(|n| *n > 0),
                    samples,
                    bytes: None,
                    timing: None,
                    node: None,
                    source: test.name.clone(),
                    is_judged: true,
                });
            }
        }
    }

    /// The samples of a copy that ran alone.
    fn samples_of(&self, cell: Cell, from: Endpoint, to: Endpoint) -> Vec<f64> {
        if !matches!(
            cell,
            Cell::Down | Cell::Up | Cell::Write | Cell::Read | Cell::Local
        ) {
            return Vec::new();
        }
        let same = |sample: &&(Endpoint, Endpoint, f64)| (sample.0, sample.1) == (from, to);
        self.samples
            .iter()
            .filter(same)
            .map(|sample| sample.2)
            .collect()
    }
}

/// Where a cell is, and what it would be the number of.
struct Place<'a> {
    /// Our key of the test, or its name.
    test: &'a str,
    words: String,
    ends: (Endpoint, Endpoint),
    /// The name of its number.
    name: &'a str,
    /// Whether it stands for a device and itself, where nothing is measured.
    is_diagonal: bool,
}

impl Place<'_> {
    /// The number in a cell; `None` where there is none, which is a trouble but for a device and itself.
    fn number(&self, file: &mut LinkFile, text: &str) -> Option<f64> {
        let text = text.trim();
        let value = text.parse::<f64>().ok();
        let is_absent = text == "N/A";
        // Old versions print 0.00 for a device and itself.
        if self.is_diagonal && (is_absent || value == Some(0.0)) {
            return None;
        }
        let value = value.filter(|value| value.is_finite() && *value > 0.0);
        if value.is_none() {
            let (kind, words) = if is_absent {
                let words = format!("{} is N/A: it does not apply there", self.words);
                (TroubleKind::NotApplicable, words)
            } else {
                let words = format!(
                    "{} is `{text}`, which is no measurement; it is left out",
                    self.words
                );
                (TroubleKind::File, words)
            };
            file.troubles.push(LinkTrouble {
                kind,
                test: Some(replaced(self.test)),
                roles: vec![role(self.name).to_owned()],
                ends: Some(self.ends),
                bytes: None,
                detail: replaced(&words),
            });
        }
        value
    }
}
