//! Server-sent events out of bytes that were split anywhere.
//!
//! It follows the WHATWG HTML standard, section 9.2.6 (LF, CRLF and CR end a line, a colon begins a comment, data lines
//! are joined) and knows nothing of what the data means. It is lenient in one place: data that stands at the end of a
//! stream without a blank line behind it is given, marked as unfinished.

use crate::MAX_LINE_BYTES;

/// One event with data, borrowed from the bytes of the read where all of it is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Event<'a> {
    /// Its data; several lines are joined by LF.
    pub data: &'a [u8],
    /// Whether the server called it an error: `event: error`, or llama.cpp's field `error`.
    pub error: bool,
    /// Whether the stream ended before its blank line.
    pub unfinished: bool,
}

/// A line or an event is longer than is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("one line or event is longer than {} MiB", MAX_LINE_BYTES >> 20)]
pub struct LineTooLong;

/// Collects events across reads.
#[derive(Debug, Default)]
pub struct Reader {
    /// The part of a line whose end has not come yet.
    line: Vec<u8>,
    /// Data lines since the last event; read only while `has_data`.
    data: Vec<u8>,
    has_data: bool,
    error: bool,
    /// The last byte was CR, so that an LF at once after it ends no second line.
    after_cr: bool,
    /// A line ended, so that no byte order mark can follow.
    begun: bool,
}

impl Reader {
    /// Bytes that are kept until the end of a line or an event comes.
    #[must_use]
    pub fn kept(&self) -> usize {
        self.line.len() + if self.has_data { self.data.len() } else { 0 }
    }

    /// Takes bytes from the front of `rest` until an event is complete; `None` once all of them are taken.
    ///
    /// # Errors
    /// A line or an event is longer than [`MAX_LINE_BYTES`]; the reader is of no use then.
    pub fn next<'s, 'b: 's>(
        &'s mut self,
        rest: &mut &'b [u8],
    ) -> Result<Option<Event<'s>>, LineTooLong> {
        if !self.has_data {
            self.data.clear();
        }
        loop {
            if self.after_cr {
                let Some(&first) = rest.first() else {
                    return Ok(None);
                };
                self.after_cr = false;
                if first == b'\n' {
                    *rest = &rest[1..];
                }
            }
            if self.is_between_events()
                && let Some((data, used)) = plain_event(rest)
            {
                *rest = &rest[used..];
                return Ok(Some(Event {
                    data,
                    error: false,
                    unfinished: false,
                }));
            }
            let Some(end) = memchr::memchr2(b'\n', b'\r', rest) else {
                self.keep(rest)?;
                *rest = &[];
                return Ok(None);
            };
            let (line, behind) = rest.split_at(end);
            self.after_cr = behind[0] == b'\r';
            *rest = &behind[1..];
            let is_event = if self.line.is_empty() {
                self.end_line(line)?
            } else {
                self.keep(line)?;
                let whole = std::mem::take(&mut self.line);
                let is_event = self.end_line(&whole)?;
                self.line = whole;
                self.line.clear();
                is_event
            };
            if is_event {
                return Ok(Some(Event {
                    data: &self.data,
                    error: std::mem::take(&mut self.error),
                    unfinished: false,
                }));
            }
        }
    }

    /// Gives what stands there unfinished when the stream ends.
    pub fn finish(&mut self) -> Option<Event<'_>> {
        if !self.has_data {
            self.data.clear();
        }
        if !self.line.is_empty() {
            let line = std::mem::take(&mut self.line);
            self.end_line(&line).ok()?;
        }
        std::mem::take(&mut self.has_data).then_some(Event {
            data: &self.data,
            error: self.error,
            unfinished: true,
        })
    }

    /// Gives back memory that a long line took; worth calling where a reader waits for its next use.
    pub fn reset(&mut self) {
        *self = Self::default();
    }

    fn is_between_events(&self) -> bool {
        self.begun && !self.has_data && !self.error && self.line.is_empty()
    }

    fn keep(&mut self, part: &[u8]) -> Result<(), LineTooLong> {
        if self.line.len() + part.len() > MAX_LINE_BYTES {
            return Err(LineTooLong);
        }
        self.line.extend_from_slice(part);
        Ok(())
    }

    /// Takes a line; says whether it ends an event, whose data stands in `data` then.
    fn end_line(&mut self, line: &[u8]) -> Result<bool, LineTooLong> {
        let mut line = line;
        if !std::mem::replace(&mut self.begun, true) {
            line = line.strip_prefix("\u{feff}".as_bytes()).unwrap_or(line);
        }
        if line.is_empty() {
            let is_event = std::mem::take(&mut self.has_data);
            if !is_event {
                self.error = false;
            }
            return Ok(is_event);
        }
        let (field, value) = match memchr::memchr(b':', line) {
            Some(colon) => (&line[..colon], &line[colon + 1..]),
            None => (line, &line[line.len()..]),
        };
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match field {
            b"data" => self.add(value)?,
            b"event" => self.error = value == b"error",
            b"error" => {
                self.add(value)?;
                self.error = true;
            }
            // Comments have an empty field name; `id` and `retry` mean nothing here.
            _ => {}
        }
        Ok(false)
    }

    fn add(&mut self, value: &[u8]) -> Result<(), LineTooLong> {
        if self.data.len() + value.len() >= MAX_LINE_BYTES {
            return Err(LineTooLong);
        }
        if std::mem::replace(&mut self.has_data, true) {
            self.data.push(b'\n');
        }
        self.data.extend_from_slice(value);
        Ok(())
    }
}

/// The event that engines send: one data line and a blank line, ended by LF; its data, and the bytes that it takes.
fn plain_event(bytes: &[u8]) -> Option<(&[u8], usize)> {
    let value = bytes.strip_prefix(b"data:")?;
    let end = memchr::memchr2(b'\n', b'\r', value)?;
    if value[end] != b'\n' || value.get(end + 1) != Some(&b'\n') {
        return None;
    }
    let data = &value[..end];
    let used = bytes.len() - value.len() + end + 2;
    Some((data.strip_prefix(b" ").unwrap_or(data), used))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The data of all events and whether each was an error, however the bytes are cut.
    fn events(bytes: &[u8], cut: usize) -> Vec<(String, bool)> {
        let mut reader = Reader::default();
        let mut events = Vec::new();
        let owned = |event: Event<'_>| {
            let data = String::from_utf8(event.data.to_vec()).unwrap();
            (data, event.error)
        };
        for part in bytes.chunks(cut) {
            let mut rest = part;
            while let Some(event) = reader.next(&mut rest).unwrap() {
                events.push(owned(event));
            }
        }
        events.extend(reader.finish().map(owned));
        events
    }

    #[test]
    fn events_are_the_same_wherever_the_bytes_are_cut() {
        let text = "\u{feff}: ping\n\ndata: a\u{e9}\u{1f600}\r\n\r\n:\n\ndata:b\ndata: c\n\nid: 7\ndata\n\nretry: 1\n\ndata:  d\r\rdata: e\n\n";
        for cut in 1..=text.len() {
            let data: Vec<String> = events(text.as_bytes(), cut)
                .into_iter()
                .map(|(data, _)| data)
                .collect();
            // A comment and a lone id make no event; two data lines are joined; one space after the colon is dropped.
            assert_eq!(
                data,
                ["a\u{e9}\u{1f600}", "b\nc", "", " d", "e"],
                "cut every {cut} bytes"
            );
        }
    }

    #[test]
    fn what_stands_unfinished_at_the_end_is_marked() {
        let mut reader = Reader::default();
        let mut rest = &b"data: whole\n\ndata: ha"[..];
        let whole = reader.next(&mut rest).unwrap().unwrap();
        assert_eq!((whole.data, whole.unfinished), (&b"whole"[..], false));
        assert_eq!(reader.next(&mut rest), Ok(None));
        let last = reader.finish().unwrap();
        assert_eq!((last.data, last.unfinished), (&b"ha"[..], true));
        assert_eq!(Reader::default().finish(), None);
    }

    #[test]
    fn errors_are_told_by_event_and_by_field() {
        let text = b"event: error\ndata: x\n\nerror: {\"code\":500}\n\ndata: fine\n\nevent: error\n\ndata: y\n\n";
        for cut in 1..=text.len() {
            // An event without data is none, and what it was called ends with it.
            let expected = [
                ("x", true),
                ("{\"code\":500}", true),
                ("fine", false),
                ("y", false),
            ];
            let expected = expected.map(|(data, error)| (data.to_owned(), error));
            assert_eq!(events(text, cut), expected, "cut every {cut} bytes");
        }
    }

    #[test]
    fn a_line_without_an_end_is_given_up_and_not_kept() {
        let mut reader = Reader::default();
        let part = vec![b'x'; 1 << 20];
        // 16 parts of 1 MiB are 16 MiB; the 17th is too much.
        for _ in 0..16 {
            assert_eq!(reader.next(&mut &part[..]), Ok(None));
        }
        assert_eq!(reader.next(&mut &part[..]), Err(LineTooLong));
        let mut reader = Reader::default();
        let line = [&b"data: "[..], &part, b"\n"].concat();
        let taken = (0..20).take_while(|_| reader.next(&mut &line[..]).is_ok());
        // 15 lines of 1 MiB and 14 LF stay below 16 MiB; with the 16th line they would be above.
        assert_eq!(taken.count(), 15);
    }
}
