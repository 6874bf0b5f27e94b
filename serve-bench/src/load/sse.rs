//! Server-sent events out of bytes that were split anywhere.
//!
//! It follows the WHATWG HTML standard, section 9.2.6 (LF, CRLF and CR end a line, a colon begins a comment, data lines
//! are joined) and knows nothing of what the data means. It is lenient in one place: data that stands at the end of a
//! stream without a blank line behind it is given, marked as unfinished.

/// One event with data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Event {
    /// Its data; several lines are joined by LF.
    pub(super) data: Vec<u8>,
    /// Whether the server called it an error: `event: error`, or llama.cpp's field `error`.
    pub(super) error: bool,
    /// Whether the stream ended before its blank line.
    pub(super) unfinished: bool,
}

/// Collects events across reads.
#[derive(Debug, Default)]
pub(super) struct Reader {
    line: Vec<u8>,
    /// `None` where no data line came since the last event.
    data: Option<Vec<u8>>,
    error: bool,
    /// The last byte was CR, so that an LF at once after it ends no second line.
    after_cr: bool,
    /// A line ended, so that no byte order mark can follow.
    begun: bool,
}

impl Reader {
    /// Takes the bytes of one read and gives the events that they complete.
    pub(super) fn push(&mut self, bytes: &[u8]) -> Vec<Event> {
        let mut events = Vec::new();
        let mut rest = bytes;
        while let Some(&first) = rest.first() {
            if std::mem::take(&mut self.after_cr) && first == b'\n' {
                rest = &rest[1..];
                continue;
            }
            let Some(end) = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r')) else {
                self.line.extend_from_slice(rest);
                break;
            };
            self.line.extend_from_slice(&rest[..end]);
            self.after_cr = rest[end] == b'\r';
            rest = &rest[end + 1..];
            events.extend(self.end_line());
        }
        events
    }

    /// Gives what stands there unfinished when the stream ends.
    pub(super) fn finish(mut self) -> Option<Event> {
        if !self.line.is_empty() {
            drop(self.end_line());
        }
        self.data.map(|data| Event {
            data,
            error: self.error,
            unfinished: true,
        })
    }

    fn end_line(&mut self) -> Option<Event> {
        let line = std::mem::take(&mut self.line);
        let mut line = line.as_slice();
        if !std::mem::replace(&mut self.begun, true) {
            line = line.strip_prefix("\u{feff}".as_bytes()).unwrap_or(line);
        }
        if line.is_empty() {
            let error = std::mem::take(&mut self.error);
            return self.data.take().map(|data| Event {
                data,
                error,
                unfinished: false,
            });
        }
        let (field, value) = match line.iter().position(|byte| *byte == b':') {
            Some(colon) => (&line[..colon], &line[colon + 1..]),
            None => (line, &line[line.len()..]),
        };
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match field {
            b"data" => self.add(value),
            b"event" => self.error = value == b"error",
            b"error" => {
                self.add(value);
                self.error = true;
            }
            // Comments have an empty field name; `id` and `retry` mean nothing here.
            _ => {}
        }
        None
    }

    fn add(&mut self, value: &[u8]) {
        match &mut self.data {
            Some(data) => {
                data.push(b'\n');
                data.extend_from_slice(value);
            }
            None => self.data = Some(value.to_vec()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The data of all events, however the bytes are cut.
    fn data(bytes: &[u8], cut: usize) -> Vec<String> {
        let mut reader = Reader::default();
        let mut events: Vec<Event> = bytes
            .chunks(cut)
            .flat_map(|part| reader.push(part))
            .collect();
        events.extend(reader.finish());
        events
            .into_iter()
            .map(|event| String::from_utf8(event.data).unwrap())
            .collect()
    }

    #[test]
    fn events_are_the_same_wherever_the_bytes_are_cut() {
        let text = "\u{feff}: ping\n\ndata: a\u{e9}\u{1f600}\r\n\r\n:\n\ndata:b\ndata: c\n\nid: 7\ndata\n\nretry: 1\n\ndata:  d\r\rdata: e\n\n";
        for cut in 1..=text.len() {
            // A comment and a lone id make no event; two data lines are joined; one space after the colon is dropped.
            assert_eq!(
                data(text.as_bytes(), cut),
                ["a\u{e9}\u{1f600}", "b\nc", "", " d", "e"],
                "cut every {cut} bytes"
            );
        }
    }

    #[test]
    fn what_stands_unfinished_at_the_end_is_marked() {
        let mut reader = Reader::default();
        assert_eq!(reader.push(b"data: whole\n\ndata: ha"), [event("whole")]);
        let last = reader.finish().unwrap();
        assert!(last.unfinished);
        assert_eq!(last.data, b"ha");
        assert_eq!(Reader::default().finish(), None);
    }

    #[test]
    fn errors_are_told_by_event_and_by_field() {
        let mut reader = Reader::default();
        let events =
            reader.push(b"event: error\ndata: x\n\nerror: {\"code\":500}\n\ndata: fine\n\n");
        let errors: Vec<bool> = events.iter().map(|event| event.error).collect();
        assert_eq!(errors, [true, true, false]);
        assert_eq!(events[1].data, b"{\"code\":500}");
    }

    fn event(data: &str) -> Event {
        Event {
            data: data.as_bytes().to_vec(),
            error: false,
            unfinished: false,
        }
    }
}
