//! [`Lines`]: the lines of a captured text, cleaned of what terminals, editors and mails put around them.

use super::CapturedError;

/// The most bytes of a foreign word that an error repeats.
const SHOWN: usize = 32;

/// Lines with their numbers, read from the top.
#[derive(Debug)]
pub(super) struct Lines {
    lines: Vec<String>,
    next: usize,
}

impl Lines {
    /// Cleans a text of what is put around lines, as [`bounded::pasted`] does.
    pub(super) fn of(text: &str) -> Self {
        let lines = bounded::pasted::lines(text);
        Self { lines, next: 0 }
    }

    /// The next line, which stays the next one.
    pub(super) fn peek(&self) -> Option<&str> {
        self.ahead(0)
    }

    /// The line so many after the next one.
    pub(super) fn ahead(&self, lines: usize) -> Option<&str> {
        self.lines
            .get(self.next.checked_add(lines)?)
            .map(String::as_str)
    }

    /// Puts a line above the next one.
    pub(super) fn put(&mut self, line: String) {
        self.lines.insert(self.next, line);
    }

    /// Goes past the next line.
    pub(super) fn advance(&mut self) {
        self.next += 1;
    }

    /// The number of the next line, from 1.
    pub(super) fn number(&self) -> usize {
        self.next + 1
    }

    /// Whether nothing but empty lines is left; a text that was cut short ends in its last line.
    pub(super) fn ended(&self) -> bool {
        self.lines
            .iter()
            .skip(self.next)
            .all(|line| line.is_empty())
    }

    /// The first line after the next one that is not empty: some terminals' pastes have an empty line after each line.
    pub(super) fn below(&self) -> &str {
        let mut lines = self.lines.iter().skip(self.next + 1);
        lines
            .find(|line| !line.is_empty())
            .map_or("", String::as_str)
    }

    /// Goes past empty lines; gives the next one.
    pub(super) fn skip_empty(&mut self) -> Option<&str> {
        while self.peek().is_some_and(str::is_empty) {
            self.advance();
        }
        self.peek()
    }
}

/// An error at a line.
pub(super) fn malformed(tool: &'static str, line: usize, what: String) -> CapturedError {
    CapturedError::Malformed { tool, line, what }
}

/// A foreign word as an error repeats it.
pub(super) fn shown(word: &str) -> String {
    let mut end = word.len().min(SHOWN);
    while !word.is_char_boundary(end) {
        end -= 1;
    }
    let mark = if end < word.len() { "..." } else { "" };
    format!("`{}{mark}`", word[..end].replace('\t', " "))
}
