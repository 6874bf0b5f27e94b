//! What a table adds to a capture.

use super::CapturedError;
use super::classes::{self, Affinity};
use super::lines::malformed;
use super::model::{Captured, PairTable};
use super::table::Table;
use crate::Matrix;

/// The most tables of words; the tool with the most prints nine.
const MOST_TABLES: usize = 32;

impl Captured {
    /// Takes the matrix of a table, with the affinities of its rows.
    pub(super) fn add_matrix(
        &mut self,
        table: &Table,
        tool: &'static str,
        titles: &[Affinity],
        mut matrix: Matrix,
    ) -> Result<(), CapturedError> {
        if self.matrix.is_some() {
            return Err(CapturedError::Twice {
                tool,
                line: table.line,
                what: "a matrix".to_owned(),
            });
        }
        self.open.extend(table.lacks(tool));
        self.open
            .extend(classes::affinities(table, tool, titles, &mut matrix)?);
        self.matrix = Some(matrix);
        Ok(())
    }

    /// Takes a table of words.
    pub(super) fn add_table(
        &mut self,
        table: Table,
        tool: &'static str,
        about: String,
    ) -> Result<(), CapturedError> {
        let same = |known: &PairTable| known.source == tool && known.about == about;
        if self.tables.iter().any(same) {
            return Err(CapturedError::Twice {
                tool,
                line: table.line,
                what: format!("the table of {about}"),
            });
        }
        if self.tables.len() >= MOST_TABLES {
            let what = format!("there are more than {MOST_TABLES} tables");
            return Err(malformed(tool, table.line, what));
        }
        self.open.extend(table.lacks(tool));
        self.tables.push(table.into_words(tool, about)?);
        Ok(())
    }
}
