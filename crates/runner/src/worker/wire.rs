//! How a message looks on a pipe: the character U+001E, JSON, a line end (as RFC 7464 frames JSON texts).
//!
//! A vendor library may print on the same pipe, even without a line end before our message. JSON never holds a raw
//! U+001E (RFC 8259 section 7 demands its escape), so the last one in a line starts the message and what precedes it
//! is noise. This file does not read or write descriptors.

use serde::Serialize;

/// The character before a message.
const MARKER: char = '\u{1e}';

/// A line longer than this is cut, so that a worker gone wild cannot fill the parent's memory: 64 MiB.
const LINE_BYTES: usize = 64 * 1024 * 1024;

/// Renders a message as one marked line with its line end.
pub(crate) fn encode<T: Serialize>(message: &T) -> serde_json::Result<Vec<u8>> {
    let mut line = vec![MARKER as u8];
    serde_json::to_writer(&mut line, message)?;
    line.push(b'\n');
    Ok(line)
}

/// Splits a line into the noise before the marker and the message after it.
pub(crate) fn split(line: &str) -> (&str, Option<&str>) {
    match line.rsplit_once(MARKER) {
        Some((noise, message)) => (noise, Some(message)),
        None => (line, None),
    }
}

/// Cuts a stream of bytes into lines.
#[derive(Default)]
pub(crate) struct Lines {
    /// The bytes after the last line end; holds no line end itself.
    partial: Vec<u8>,
}

impl Lines {
    /// Adds bytes and hands every line that is now complete to `take`, without its line end.
    pub(crate) fn push(&mut self, bytes: &[u8], mut take: impl FnMut(&str)) {
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.partial.extend_from_slice(piece);
            if piece.ends_with(b"\n") || self.partial.len() >= LINE_BYTES {
                self.flush(&mut take);
            }
        }
    }

    /// Hands over the last line, which had no line end, if there is one.
    pub(crate) fn flush(&mut self, mut take: impl FnMut(&str)) {
        if self.partial.is_empty() {
            return;
        }
        let bytes = std::mem::take(&mut self.partial);
        let text = String::from_utf8_lossy(&bytes);
        take(text.strip_suffix('\n').unwrap_or(&text));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_a_marked_json_line() {
        assert_eq!(
            encode(&("a\u{1e}b", 1)).unwrap(),
            b"\x1e[\"a\\u001eb\",1]\n"
        );
    }

    #[test]
    fn text_before_the_marker_is_noise() {
        assert_eq!(
            split("NCCL INFO ring \u{1e}[1]"),
            ("NCCL INFO ring ", Some("[1]"))
        );
        assert_eq!(split("\u{1e}[1]"), ("", Some("[1]")));
        assert_eq!(split("NCCL INFO ring"), ("NCCL INFO ring", None));
    }

    #[test]
    fn lines_survive_any_cut_even_inside_a_character() {
        let bytes = "один\n\nдва\nrest".as_bytes();
        for cut in 0..=bytes.len() {
            let mut lines = Lines::default();
            let mut seen = Vec::new();
            lines.push(&bytes[..cut], |line| seen.push(line.to_owned()));
            lines.push(&bytes[cut..], |line| seen.push(line.to_owned()));
            lines.flush(|line| seen.push(line.to_owned()));
            assert_eq!(seen, ["один", "", "два", "rest"], "cut at byte {cut}");
        }
    }
}
