//! [`Lines`]: the lines of a captured text; and [`Table`]: a header that names ends, and rows of one word for each, as all tools print
//! pairs.

use super::model::{CapturedError, CapturedFinding, PairTable, malformed};

/// The most letters of a foreign word that an error repeats.
const SHOWN: usize = 32;

/// The most ends of a table; the largest boxes have 64 GPUs.
pub(super) const MOST_ENDS: usize = 256;

/// Lines with their numbers, read from the top.
#[derive(Debug)]
pub(super) struct Lines {
    lines: Vec<String>,
    next: usize,
}

impl Lines {
    /// Cleans a text of what terminals, editors and mails put around lines, as [`bounded::pasted`] does.
    pub(super) fn of(text: &str) -> Self {
        let lines = bounded::pasted::lines(text);
        Self { lines, next: 0 }
    }

    /// Whether there is no next line.
    pub(super) fn is_over(&self) -> bool {
        self.next >= self.lines.len()
    }

    /// The line so many after the next one; empty where there is none.
    pub(super) fn ahead(&self, lines: usize) -> &str {
        let line = self.lines.get(self.next.saturating_add(lines));
        line.map_or("", String::as_str)
    }

    /// The first line after the next one that is not empty: some terminals' pastes have an empty line after each line.
    pub(super) fn below(&self) -> &str {
        let mut lines = self.lines.iter().skip(self.next + 1);
        lines
            .find(|line| !line.is_empty())
            .map_or("", String::as_str)
    }

    /// Puts a line above the next one.
    pub(super) fn put(&mut self, line: String) {
        self.lines.insert(self.next, line);
    }

    /// Goes past the next line.
    pub(super) fn advance(&mut self) {
        self.next += 1;
    }

    /// Goes past the next line and empty ones below it.
    pub(super) fn advance_to_text(&mut self) {
        self.advance();
        while !self.is_over() && self.ahead(0).is_empty() {
            self.advance();
        }
    }

    /// The number of the next line, from 1.
    pub(super) fn number(&self) -> usize {
        self.next + 1
    }

    /// Whether nothing but empty lines is left; a text that was cut short ends in its last line.
    pub(super) fn ended(&self) -> bool {
        let mut left = self.lines.iter().skip(self.next);
        left.all(String::is_empty)
    }
}

/// The words of a line.
pub(super) fn words(line: &str) -> Vec<String> {
    line.split_whitespace().map(str::to_owned).collect()
}

/// The first word of a line.
pub(super) fn first(line: &str) -> &str {
    line.split_whitespace().next().unwrap_or_default()
}

/// A foreign word as an error repeats it.
pub(super) fn shown(word: &str) -> String {
    let head: String = word.chars().take(SHOWN).collect();
    let mark = if head.len() < word.len() { "..." } else { "" };
    format!("`{}{mark}`", head.replace('\t', " "))
}

/// A table as it stands in the text.
#[derive(Debug)]
pub(super) struct Table {
    /// The command that prints it.
    pub(super) tool: &'static str,
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
    /// Reads the rows below a header, which the next line is; refuses a table without rows, and one that a broken row cuts in two.
    pub(super) fn read(
        lines: &mut Lines,
        tool: &'static str,
        ends: Vec<String>,
    ) -> Result<Self, CapturedError> {
        let line = lines.number();
        let is_twice = |at: usize| ends[..at].contains(&ends[at]);
        if !(1..=MOST_ENDS).contains(&ends.len()) || (1..ends.len()).any(is_twice) {
            let what = format!(
                "the header names {} ends, and 1 to {MOST_ENDS} different ones are read",
                ends.len()
            );
            return Err(malformed(tool, line, what));
        }
        lines.advance();
        let at = |line: &str| ends.iter().position(|end| end == first(line));
        let mut rows: Vec<Option<Row>> = ends.iter().map(|_| None).collect();
        loop {
            // Some terminals' pastes have an empty line after each line.
            let is_spaced = lines.ahead(0).is_empty()
                && at(lines.ahead(1)).is_some_and(|at| rows[at].is_none());
            if is_spaced {
                lines.advance();
            }
            let Some(at) = at(lines.ahead(0)) else { break };
            let here = lines.number();
            let mut cells = words(lines.ahead(0)).split_off(1);
            if rows[at].is_some() || cells.len() < ends.len() {
                let what = match rows[at] {
                    Some(_) => format!("row {} stands there twice", ends[at]),
                    None => format!(
                        "row {} is cut short, it has {} of {} cells",
                        ends[at],
                        cells.len(),
                        ends.len()
                    ),
                };
                return Err(malformed(tool, here, what));
            }
            let rest = cells.split_off(ends.len());
            lines.advance();
            rows[at] = Some(Row {
                line: here,
                cells,
                rest,
                last: lines.ended(),
            });
        }
        if rows.iter().all(Option::is_none) {
            let what = format!("the header names {} ends and no row follows", ends.len());
            return Err(malformed(tool, line, what));
        }
        // A header has as many words as there are ends, a row one more.
        let (next, after) = (lines.ahead(0), lines.ahead(1));
        let is_broken = numbered(first(next)).is_some() && next.split_whitespace().count() > 1;
        let goes_on = at(after).is_some() && after.split_whitespace().count() > ends.len();
        if is_broken || (!next.is_empty() && goes_on) {
            let what = format!("{} begins no row of this table", shown(first(next)));
            return Err(malformed(tool, lines.number(), what));
        }
        Ok(Self {
            tool,
            ends,
            line,
            rows,
        })
    }

    /// The rows that the text lacks, where it lacks any.
    pub(super) fn lacks(&self) -> Option<CapturedFinding> {
        let rows = self.rows.iter().zip(&self.ends);
        let missing = rows.filter(|(row, _)| row.is_none());
        let rows: Vec<String> = missing.map(|(_, name)| name.clone()).collect();
        (!rows.is_empty()).then(|| CapturedFinding::RowsMissing {
            tool: self.tool.to_owned(),
            rows,
        })
    }

    /// The table as words; refuses words after the last column.
    pub(super) fn into_words(self, about: String) -> Result<PairTable, CapturedError> {
        let mut cells = Vec::new();
        for row in self.rows {
            cells.push(match row {
                None => vec![None; self.ends.len()],
                Some(row) if row.rest.is_empty() => row.cells.into_iter().map(Some).collect(),
                Some(row) => {
                    let what = format!("{} stands after the last column", shown(&row.rest[0]));
                    return Err(malformed(self.tool, row.line, what));
                }
            });
        }
        Ok(PairTable {
            source: self.tool.to_owned(),
            about,
            ends: self.ends,
            cells,
        })
    }
}

/// The number of an end that is a GPU or a NIC by its name, such as `GPU0` and `NIC3`.
pub(super) fn numbered(word: &str) -> Option<u32> {
    let number = word
        .strip_prefix("GPU")
        .or_else(|| word.strip_prefix("NIC"))?;
    let plain = number.bytes().all(|b| b.is_ascii_digit());
    number.parse().ok().filter(|_| plain)
}

/// Whether a word names an end: `GPU0`, `NIC1`, or as older drivers print network cards, `mlx5_0`.
pub(super) fn is_end(word: &str) -> bool {
    let mut letters = word.chars();
    let is_plain = letters.all(|c| c.is_ascii_alphanumeric() || "_-.:".contains(c));
    is_plain
        && word.starts_with(|c: char| c.is_ascii_alphabetic())
        && word.contains(|c: char| c.is_ascii_digit())
        && word.len() <= 64
}
