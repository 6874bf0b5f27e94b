//! The head of an HTTP/1.1 reply: status, headers, how the body is framed, whether the connection stays (RFC 9112).

use crate::body::Framing;
use crate::{MAX_HEAD_BYTES, NotHttp};

/// Headers of one reply at most.
const MAX_HEADERS: usize = 100;

/// The head of a reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Head {
    /// Status code.
    pub status: u16,
    /// How the body ends.
    pub framing: Framing,
    /// Whether the server means to keep the connection.
    pub keep: bool,
    headers: Vec<(String, String)>,
}

impl Head {
    /// Reads the head of a reply to a POST or GET; heads of interim replies (1xx) before it are skipped. Gives the head and the
    /// number of bytes until the body, or `None` where the head has not ended yet.
    ///
    /// # Errors
    /// It is not HTTP/1.x, longer than [`MAX_HEAD_BYTES`], or its framing contradicts itself.
    pub fn parse(bytes: &[u8]) -> Result<Option<(Self, usize)>, NotHttp> {
        let mut used = 0;
        loop {
            let mut headers = [httparse::EMPTY_HEADER; MAX_HEADERS];
            let mut response = httparse::Response::new(&mut headers);
            let parsed = response
                .parse(&bytes[used..])
                .map_err(|error| match error {
                    httparse::Error::Version => {
                        NotHttp("invalid HTTP version parsed: the reply is not HTTP/1.1")
                    }
                    httparse::Error::TooManyHeaders => {
                        NotHttp("the reply has more than 100 headers")
                    }
                    _ => NotHttp("the head of the reply is not HTTP/1.1"),
                })?;
            let httparse::Status::Complete(length) = parsed else {
                return if bytes.len() > MAX_HEAD_BYTES {
                    Err(NotHttp("the head of the reply is longer than 64 KiB"))
                } else {
                    Ok(None)
                };
            };
            used += length;
            let status = response.code.unwrap_or_default();
            match status {
                101 => return Err(NotHttp("the server switches to another protocol")),
                100..=199 => {}
                _ => return Self::of(&response, status).map(|head| Some((head, used))),
            }
        }
    }

    /// The value of a header; the name in lower case.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }

    fn of(response: &httparse::Response<'_, '_>, status: u16) -> Result<Self, NotHttp> {
        let headers: Vec<(String, String)> = response
            .headers
            .iter()
            .map(|header| {
                let value = String::from_utf8_lossy(header.value).trim().to_owned();
                (header.name.to_ascii_lowercase(), value)
            })
            .collect();
        // Every item of a list, over all headers with this name.
        let list = |name: &'static str| {
            headers
                .iter()
                .filter(move |(known, _)| known == name)
                .flat_map(|(_, value)| value.split(','))
                .map(|item| item.trim().to_ascii_lowercase())
        };
        let codings: Vec<String> = list("transfer-encoding").collect();
        let lengths: Vec<String> = list("content-length").collect();
        let framing = if matches!(status, 204 | 304) {
            Framing::Length(0)
        } else if let Some(last) = codings.last() {
            if last == "chunked" {
                Framing::Chunked
            } else {
                Framing::UntilClose
            }
        } else if let Some(first) = lengths.first() {
            if lengths.iter().any(|other| other != first)
                || !first.bytes().all(|b| b.is_ascii_digit())
            {
                return Err(NotHttp("the reply's content-length is not one number"));
            }
            let length = first.parse();
            Framing::Length(
                length.map_err(|_| NotHttp("the reply's content-length is not one number"))?,
            )
        } else {
            Framing::UntilClose
        };
        let says = |what: &str| list("connection").any(|item| item == what);
        let keep = match response.version {
            Some(1) => !says("close"),
            _ => says("keep-alive"),
        };
        // A reply with both may be an attempt to smuggle; its connection is not used again (RFC 9112, section 6.1).
        let is_both = !codings.is_empty() && !lengths.is_empty();
        Ok(Self {
            status,
            framing,
            keep: keep && framing != Framing::UntilClose && !is_both,
            headers,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(text: &str) -> Head {
        let (head, used) = Head::parse(text.as_bytes()).unwrap().unwrap();
        assert_eq!(used, text.len());
        head
    }

    #[test]
    fn the_body_is_framed_as_the_headers_say() {
        for (text, framing, keep) in [
            (
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
                Framing::Chunked,
                true,
            ),
            (
                "HTTP/1.1 200 OK\r\nContent-Length: 12\r\nConnection: Close\r\n\r\n",
                Framing::Length(12),
                false,
            ),
            (
                "HTTP/1.1 200 OK\r\nContent-Length: 12, 12\r\n\r\n",
                Framing::Length(12),
                true,
            ),
            ("HTTP/1.1 200 OK\r\n\r\n", Framing::UntilClose, false),
            ("HTTP/1.1 204 No Content\r\n\r\n", Framing::Length(0), true),
            (
                "HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\n",
                Framing::Length(1),
                false,
            ),
            (
                "HTTP/1.0 200 OK\r\nContent-Length: 1\r\nConnection: keep-alive\r\n\r\n",
                Framing::Length(1),
                true,
            ),
            (
                "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
                Framing::Chunked,
                false,
            ),
            // An interim reply comes before the final one.
            (
                "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 500 Oops\r\nContent-Length: 0\r\n\r\n",
                Framing::Length(0),
                true,
            ),
        ] {
            let head = head(text);
            assert_eq!((head.framing, head.keep), (framing, keep), "{text}");
        }
    }

    #[test]
    fn headers_are_found_in_any_spelling() {
        let head = head("HTTP/1.1 200 OK\r\nX-TpLens: a b \r\n\r\n");
        assert_eq!(head.header("x-tplens"), Some("a b"));
        assert_eq!(head.header("server"), None);
    }

    #[test]
    fn a_head_is_waited_for_until_it_is_too_long() {
        let text = b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc";
        // The head is 38 bytes long.
        for cut in 0..38 {
            assert_eq!(Head::parse(&text[..cut]), Ok(None), "{cut}");
        }
        assert_eq!(Head::parse(text).unwrap().unwrap().1, 38);
        let endless = [&b"HTTP/1.1 200 OK\r\nX: "[..], &vec![b'x'; MAX_HEAD_BYTES]].concat();
        assert!(Head::parse(&endless).unwrap_err().0.contains("64 KiB"));
    }

    #[test]
    fn what_is_not_http_is_refused() {
        for text in [
            "what is this\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: +1\r\n\r\n",
            "HTTP/1.1 101 Switching\r\n\r\n",
        ] {
            assert!(Head::parse(text.as_bytes()).is_err(), "{text}");
        }
    }
}
