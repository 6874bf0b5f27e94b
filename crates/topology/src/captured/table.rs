//! [`Table`]: a header that names ends, and rows of one word for each, as all these tools print pairs.

use super::lines::{Lines, malformed, shown};
use super::{CapturedError, CapturedFinding, PairTable};

/// The most ends of a table; the largest boxes have 64 GPUs.
pub(super) const MOST_ENDS: usize = 256;

/// A table as it stands in the text.
#[derive(Debug)]
pub(super) struct Table {
    /// Columns, each once.
    pub(super) ends: Vec<String>,
    /// The line of the header.
    pub(super) line: usize,
    /// The row of each end; `None` where the text lacks it.
    pub(super) rows: Vec<Option<Row>>,
}

/// A row of a table.
#[derive(Debug)]
pub(super) struct Row {
    /// Its line.
    pub(super) line: usize,
    /// A word for each end.
    pub(super) cells: Vec<String>,
    /// The words after these.
    pub(super) rest: Vec<String>,
    /// Whether the text ends with it, so that it may be cut short.
    pub(super) last: bool,
}

impl Table {
    /// Reads the rows below a header, which the next line is.
    pub(super) fn read(
        lines: &mut Lines,
        tool: &'static str,
        ends: Vec<String>,
    ) -> Result<Self, CapturedError> {
        let line = lines.number();
        if ends.is_empty() || ends.len() > MOST_ENDS {
            let what = format!(
                "the header names {} ends, and 1 to {MOST_ENDS} are read",
                ends.len()
            );
            return Err(malformed(tool, line, what));
        }
        if let Some(twice) = (1..ends.len()).find(|&at| ends[..at].contains(&ends[at])) {
            let what = format!("the header has column {} twice", shown(&ends[twice]));
            return Err(malformed(tool, line, what));
        }
        lines.advance();
        let mut rows: Vec<Option<Row>> = ends.iter().map(|_| None).collect();
        loop {
            // Some terminals' pastes have an empty line after each line.
            let ahead = lines.ahead(1).unwrap_or_default();
            let spaced = lines.peek() == Some("")
                && ends
                    .iter()
                    .zip(&rows)
                    .any(|(end, row)| row.is_none() && begins_with(ahead, end));
            if spaced {
                lines.advance();
            }
            let Some(text) = lines.peek() else { break };
            let mut words = text.split_whitespace();
            let name = words.next().unwrap_or_default();
            let Some(at) = ends.iter().position(|end| end == name) else {
                break;
            };
            let here = lines.number();
            if rows[at].is_some() {
                let what = format!("row {name} stands there twice");
                return Err(malformed(tool, here, what));
            }
            let cells: Vec<String> = words.by_ref().take(ends.len()).map(str::to_owned).collect();
            if cells.len() < ends.len() {
                let what = format!(
                    "row {name} is cut short, it has {} of {} cells",
                    cells.len(),
                    ends.len()
                );
                return Err(malformed(tool, here, what));
            }
            let rest = words.map(str::to_owned).collect();
            lines.advance();
            rows[at] = Some(Row {
                line: here,
                cells,
                rest,
                last: lines.ended(),
            });
        }
        Ok(Self { ends, line, rows })
    }

    /// Refuses a table without rows, and one that a broken row cuts in two.
    pub(super) fn closed(&self, lines: &Lines, tool: &'static str) -> Result<(), CapturedError> {
        if self.rows.iter().all(Option::is_none) {
            let what = format!(
                "the header names {} ends and no row follows",
                self.ends.len()
            );
            return Err(malformed(tool, self.line, what));
        }
        // A header has as many words as there are ends, a row one more.
        let words = |ahead: usize| {
            let line = lines.ahead(ahead).unwrap_or_default();
            line.split_whitespace().take(self.ends.len() + 1).count()
        };
        let is_row = |ahead: usize| {
            let line = lines.ahead(ahead).unwrap_or_default();
            words(ahead) > self.ends.len() && self.ends.iter().any(|end| begins_with(line, end))
        };
        let first = lines.peek().and_then(|line| line.split_whitespace().next());
        let broken = first.is_some_and(|word| numbered(word).is_some()) && words(0) > 1;
        if broken || (first.is_some() && is_row(1)) {
            let word = shown(first.unwrap_or_default());
            let what = format!("{word} begins no row of this table");
            return Err(malformed(tool, lines.number(), what));
        }
        Ok(())
    }

    /// The table as words; refuses words after the last column.
    pub(super) fn into_words(
        self,
        tool: &'static str,
        about: String,
    ) -> Result<PairTable, CapturedError> {
        let mut cells = Vec::new();
        for (row, name) in self.rows.into_iter().zip(&self.ends) {
            cells.push(match row {
                None => vec![None; self.ends.len()],
                Some(row) => match row.rest.first() {
                    None => row.cells.into_iter().map(Some).collect(),
                    Some(word) => {
                        let what = format!("row {name} has {} after its last column", shown(word));
                        return Err(malformed(tool, row.line, what));
                    }
                },
            });
        }
        Ok(PairTable {
            source: tool.to_owned(),
            about,
            ends: self.ends,
            cells,
        })
    }

    /// The ends whose rows the text lacks.
    pub(super) fn missing(&self) -> Vec<&str> {
        let rows = self.rows.iter().zip(&self.ends);
        rows.filter(|(row, _)| row.is_none())
            .map(|(_, name)| name.as_str())
            .collect()
    }

    /// The rows that the text lacks, where it lacks any.
    pub(super) fn lacks(&self, tool: &str) -> Option<CapturedFinding> {
        let rows: Vec<String> = self.missing().into_iter().map(str::to_owned).collect();
        (!rows.is_empty()).then(|| CapturedFinding::RowsMissing {
            tool: tool.to_owned(),
            rows,
        })
    }
}

/// Whether the first word of a line is this one.
fn begins_with(line: &str, word: &str) -> bool {
    line.split_whitespace().next() == Some(word)
}

/// The number of an end that is a GPU or a NIC by its name, such as `GPU0` and `NIC3`.
pub(super) fn numbered(word: &str) -> Option<u32> {
    let number = ["GPU", "NIC"]
        .iter()
        .find_map(|kind| word.strip_prefix(kind))?;
    let plain = !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit());
    plain.then(|| number.parse().ok())?
}

/// Whether a word names an end: `GPU0`, `NIC1`, or as older drivers print network cards, `mlx5_0`.
pub(super) fn is_end(word: &str) -> bool {
    let named = word
        .chars()
        .all(|c| c.is_ascii_alphanumeric() || "_-.:".contains(c));
    let has = |wanted: fn(&u8) -> bool| word.as_bytes().iter().any(wanted);
    named
        && word.starts_with(|c: char| c.is_ascii_alphabetic())
        && has(u8::is_ascii_digit)
        && word.len() <= 64
}
