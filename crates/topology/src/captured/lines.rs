//! [`Lines`]: the lines of a captured text, cleaned of what terminals, editors and mails put around them.

use super::CapturedError;

/// The most bytes of a foreign word that an error repeats.
const SHOWN: usize = 32;

/// Lines with their numbers, read from the top.
#[derive(Debug)]
pub(crate) struct Lines {
    lines: Vec<String>,
    next: usize,
}

impl Lines {
    /// Cleans a text: colour codes go, also those that lost their escape character; a mail's `>` goes; other control characters
    /// become a replacement mark.
    pub(crate) fn of(text: &str) -> Self {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let lines = text.lines().map(clean).collect();
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

fn clean(line: &str) -> String {
    let mut clean = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(first) = rest.chars().next() {
        if let Some(after) = colour(rest) {
            rest = after;
            continue;
        }
        match first {
            '\t' => clean.push('\t'),
            '\r' => {}
            control if control.is_control() => clean.push('\u{fffd}'),
            other => clean.push(other),
        }
        rest = &rest[first.len_utf8()..];
    }
    let quoted = |c: char| c == '>' || c.is_whitespace();
    clean.trim_start_matches(quoted).trim_end().to_owned()
}

/// What follows a code such as `ESC[4m`, where the text begins with one; pastes often lose the escape character.
fn colour(text: &str) -> Option<&str> {
    let code = text.strip_prefix('\u{1b}').unwrap_or(text);
    let code = code.strip_prefix('[')?;
    let digits = code
        .bytes()
        .take_while(|b| b.is_ascii_digit() || *b == b';');
    // A code has at most some numbers; the bound keeps a long run of digits from being looked at again and again.
    let length = digits.take(16).count();
    code.get(length..)?.strip_prefix('m')
}
