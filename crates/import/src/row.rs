//! A row of a table in CSV: its cells, and errors that name cell and line.

use std::str::FromStr;

use serde::de::DeserializeOwned;

use super::error::ImportError;
use record::control;

/// Cells of a line at most: no table that is known here has a tenth of them.
const MOST_CELLS: usize = 1024;

/// A line's cells without their quotes.
pub(super) fn cells(line: &str) -> Vec<String> {
    let mut cells = Vec::new();
    let (mut cell, mut quoted) = (String::new(), false);
    let mut rest = line.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '"' if quoted && rest.peek() == Some(&'"') => cell.extend(rest.next()),
            '"' => quoted = !quoted,
            ',' if !quoted && cells.len() + 1 == MOST_CELLS => break,
            ',' if !quoted => cells.push(std::mem::take(&mut cell)),
            other => cell.push(other),
        }
    }
    cells.push(cell);
    cells
}

/// What our records write so.
pub(super) fn named<T: DeserializeOwned>(word: &str) -> Option<T> {
    serde_json::from_value(word.into()).ok()
}

/// A row.
pub(super) struct Row<'a> {
    origin: &'a str,
    line: usize,
    cells: Vec<String>,
}

impl<'a> Row<'a> {
    /// The row of a line, which has as many cells as there are columns.
    ///
    /// # Errors
    /// It has not.
    pub(super) fn of(
        origin: &'a str,
        line: usize,
        text: &str,
        columns: usize,
    ) -> Result<Self, ImportError> {
        let row = Self {
            origin,
            line,
            cells: cells(text),
        };
        match row.cells.len() == columns {
            true => Ok(row),
            false => Err(row.nonsense(
                "the row",
                text,
                &format!("{columns} cells as in the header; a cut file is not used"),
            )),
        }
    }

    /// A cell without blanks around it.
    pub(super) fn text(&self, at: usize) -> &str {
        self.cells.get(at).map_or("", |cell| cell.trim())
    }

    /// A number that `is` holds for.
    ///
    /// # Errors
    /// The cell holds something else, by its column's name.
    pub(super) fn number<T: FromStr>(
        &self,
        at: usize,
        name: &str,
        want: &str,
        is: impl Fn(&T) -> bool,
    ) -> Result<T, ImportError> {
        let number = self.text(at).parse().ok().filter(is);
        number.ok_or_else(|| self.nonsense(name, self.text(at), want))
    }

    /// That a cell holds what it cannot.
    pub(super) fn nonsense(&self, name: &str, seen: &str, want: &str) -> ImportError {
        ImportError::Nonsense {
            origin: self.origin.to_owned(),
            key: format!("{name} of line {}", self.line),
            seen: control::quoted(seen),
            want: want.to_owned(),
        }
    }
}
