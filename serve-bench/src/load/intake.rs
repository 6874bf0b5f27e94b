//! From the bytes of a connection to a reply's head and the parts of its body; the exchange of one request for one reply.

use std::io;

use openai::{Body, Head, NotHttp, words};
use record::{RequestError, RequestErrorKind as Kind};

/// No reply of a serving engine is larger; one that is, is given up.
const MAX_REPLY_BYTES: u64 = 1 << 30;

/// A reply that is coming in.
#[derive(Debug, Default)]
pub(super) struct Intake {
    /// The beginning of the head, while not all of it is there.
    opening: Vec<u8>,
    /// The head, once it was there, and what is known of the body.
    pub(super) under_way: Option<(Head, Body)>,
    /// Bytes of the body so far.
    bytes: u64,
    /// Bytes came behind the reply, so the connection cannot be used again.
    is_followed: bool,
}

impl Intake {
    /// Whether nothing at all came.
    pub(super) fn is_untouched(&self) -> bool {
        self.under_way.is_none() && self.opening.is_empty()
    }

    /// Takes what one read brought and gives the parts of the body in it; where the reply is over, it tells whether the connection can
    /// carry another request.
    ///
    /// # Errors
    /// It is not HTTP, or too large, or what `part` says.
    pub(super) fn take(
        &mut self,
        bytes: &[u8],
        part: impl FnMut(&Head, &[u8]) -> Result<(), RequestError>,
    ) -> Result<Option<bool>, RequestError> {
        if self.under_way.is_some() {
            return self.body(bytes, part);
        }
        let mut opening = std::mem::take(&mut self.opening);
        opening.extend_from_slice(bytes);
        match self.begin(&opening)? {
            Some(used) => self.body(&opening[used..], part),
            None => {
                self.opening = opening;
                Ok(None)
            }
        }
    }

    /// What it means that the server closed the connection now.
    ///
    /// # Errors
    /// The reply is not whole.
    pub(super) fn closed(&self) -> Result<bool, RequestError> {
        let cut = |at: &str| failed(Kind::CutShort, format!("the connection was closed {at}"));
        match &self.under_way {
            Some((_, body)) if body.is_done() || body.ends_with_connection() => Ok(false),
            Some(_) => Err(cut("before the reply was whole")),
            None if self.opening.is_empty() => Err(cut("before a reply came")),
            None => Err(cut("within the head of the reply")),
        }
    }

    /// Looks for the head; gives its length.
    fn begin(&mut self, bytes: &[u8]) -> Result<Option<usize>, RequestError> {
        let Some((head, used)) = Head::parse(bytes).map_err(not_http)? else {
            return Ok(None);
        };
        let coding = words(head.header("content-encoding").unwrap_or_default());
        if !coding.is_empty() && !coding.eq_ignore_ascii_case("identity") {
            let seen = format!(
                "the reply is compressed ({coding}), which was not asked for; switch that off in the server or the proxy before it"
            );
            return Err(failed(Kind::Garbled, seen));
        }
        let body = Body::new(head.framing);
        self.under_way = Some((head, body));
        Ok(Some(used))
    }

    fn body(
        &mut self,
        bytes: &[u8],
        mut part: impl FnMut(&Head, &[u8]) -> Result<(), RequestError>,
    ) -> Result<Option<bool>, RequestError> {
        let Some((head, body)) = &mut self.under_way else {
            return Ok(None);
        };
        let mut rest = bytes;
        while let Some(bytes) = body.next(&mut rest).map_err(not_http)? {
            self.bytes += bytes.len() as u64;
            if self.bytes > MAX_REPLY_BYTES {
                return Err(failed(Kind::Garbled, "the reply is larger than 1 GiB"));
            }
            part(head, bytes)?;
        }
        self.is_followed |= !rest.is_empty();
        Ok(body.is_done().then_some(head.keep && !self.is_followed))
    }
}

/// A failure of this kind, with what was seen of it.
pub(super) fn failed(kind: Kind, seen: impl Into<String>) -> RequestError {
    let seen = seen.into();
    RequestError { kind, seen }
}

/// What an error of the socket means for a reply that was waited for.
pub(super) fn broken(error: &io::Error) -> RequestError {
    failed(Kind::CutShort, format!("the connection broke: {error}"))
}

fn not_http(error: NotHttp) -> RequestError {
    failed(Kind::Garbled, error.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The body and the end of a reply, however its bytes are cut.
    fn read(bytes: &[u8], cut: usize) -> (String, Option<bool>) {
        let mut intake = Intake::default();
        let (mut text, mut end) = (Vec::new(), None);
        for part in bytes.chunks(cut) {
            end = intake
                .take(part, |_, part| {
                    text.extend_from_slice(part);
                    Ok(())
                })
                .unwrap()
                .or(end);
        }
        (String::from_utf8(text).unwrap(), end)
    }

    #[test]
    fn a_reply_is_the_same_wherever_its_bytes_are_cut() {
        let chunked =
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n1\r\nc\r\n0\r\n\r\n";
        let closing = b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nConnection: close\r\n\r\nabc";
        for cut in 1..=chunked.len() {
            let end = |keep| ("abc".to_owned(), Some(keep));
            assert_eq!(read(chunked, cut), end(true), "cut every {cut} bytes");
            assert_eq!(read(closing, cut), end(false), "cut every {cut} bytes");
        }
        let followed = b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nab";
        assert_eq!(read(followed, 99), ("a".to_owned(), Some(false)));
    }

    #[test]
    fn a_compressed_reply_is_not_read_as_text() {
        let head = |coding: &str| {
            let text = format!("HTTP/1.1 200 OK\r\nContent-Encoding: {coding}\r\n\r\n");
            Intake::default().take(text.as_bytes(), |_, _| Ok(()))
        };
        assert!(matches!(head("gzip"), Err(error) if error.seen.contains("(gzip)")));
        assert!(head("Identity").is_ok());
    }

    #[test]
    fn a_close_ends_only_what_ends_with_it() {
        for (bytes, whole) in [
            ("", false),
            ("HTTP/1.1 200 OK\r\nX", false),
            ("HTTP/1.1 200 OK\r\n\r\nabc", true),
            ("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nabc", false),
            (
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n",
                false,
            ),
        ] {
            let mut intake = Intake::default();
            assert_eq!(intake.take(bytes.as_bytes(), |_, _| Ok(())).unwrap(), None);
            assert_eq!(intake.closed().is_ok(), whole, "{bytes}");
        }
    }
}
