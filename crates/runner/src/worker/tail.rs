//! The last part of what a worker printed beside its messages.
//!
//! It does not interpret or redact the text; who writes it to a record does.

use std::collections::VecDeque;

/// How much of a worker's noise is kept: 64 KiB.
pub const TAIL_BYTES: usize = 64 * 1024;

/// The newest bytes of a text, up to [`TAIL_BYTES`].
#[derive(Default)]
pub(crate) struct Tail {
    /// Never longer than `TAIL_BYTES`.
    bytes: VecDeque<u8>,
}

impl Tail {
    /// Adds a line and its line end, dropping the oldest bytes where there is no room.
    pub(crate) fn push(&mut self, line: &str) {
        self.bytes.extend(line.bytes().chain([b'\n']));
        let excess = self.bytes.len().saturating_sub(TAIL_BYTES);
        self.bytes.drain(..excess);
    }

    /// Returns the text; a first character that was cut in two shows as a replacement character.
    pub(crate) fn text(&self) -> String {
        let (front, back) = self.bytes.as_slices();
        String::from_utf8_lossy(&[front, back].concat()).into_owned()
    }
}

/// The last line that is not empty: what a crashed child printed.
#[must_use]
pub fn last_line(text: &str) -> String {
    text.lines()
        .map(str::trim)
        .rfind(|line| !line.is_empty())
        .unwrap_or("it printed nothing")
        .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tail_keeps_the_newest_64_kib() {
        let mut tail = Tail::default();
        // 1000 lines of 99 characters and a line end are 100,000 bytes; 100,000 - 65,536 = 34,464 bytes go, which is
        // 344 whole lines and 64 bytes of line 344, so 35 characters of it and its line end stay.
        for number in 0..1000 {
            tail.push(&format!("{number:099}"));
        }
        let text = tail.text();
        assert_eq!(text.len(), 65_536);
        let first = text.lines().next().unwrap();
        assert_eq!((first.len(), first.ends_with("344")), (35, true));
        assert!(text.ends_with("999\n"));
    }

    #[test]
    fn a_short_text_is_kept_whole() {
        let mut tail = Tail::default();
        tail.push("one");
        tail.push("two");
        assert_eq!(tail.text(), "one\ntwo\n");
    }
}
