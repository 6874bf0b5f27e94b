//! As much of HTTP/1.1 as a load generator's requests need: a head, and a body of a told length.

use std::ops::Range;

/// A head is no longer than this, bytes.
const MAX_HEAD: usize = 64 << 10;

/// A body is no longer than this, bytes.
const MAX_BODY: usize = 64 << 20;

/// What stands at the beginning of a connection's bytes.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// Not yet all of a request.
    Part,
    /// A request.
    Request(Request),
    /// No request that is understood here; the connection is of no use after it.
    Bad(&'static str),
}

/// A request, its body as a place in the bytes.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Request {
    pub(super) is_post: bool,
    /// Without the query.
    pub(super) path: String,
    /// `x-request-id`.
    pub(super) id: Option<String>,
    /// Whether the client wants the connection closed afterwards.
    pub(super) close: bool,
    /// The body; its end is the request's.
    pub(super) body: Range<usize>,
}

/// Looks for a request.
pub(super) fn find(bytes: &[u8]) -> Found {
    const END: &[u8] = b"\r\n\r\n";
    let Some(head) = bytes.windows(END.len()).position(|four| four == END) else {
        return if bytes.len() > MAX_HEAD {
            Found::Bad("the head is longer than 64 KiB")
        } else {
            Found::Part
        };
    };
    let Ok(text) = std::str::from_utf8(&bytes[..head]) else {
        return Found::Bad("the head is not text");
    };
    let mut lines = text.split("\r\n");
    let mut words = lines.next().unwrap_or_default().split(' ');
    let (method, target) = (words.next(), words.next());
    let is_post = match method {
        Some("POST") => true,
        Some("GET" | "HEAD") => false,
        _ => return Found::Bad("the method is neither GET nor POST"),
    };
    let Some(target) = target else {
        return Found::Bad("the request names no path");
    };
    let begin = head + END.len();
    let mut request = Request {
        is_post,
        path: target.split('?').next().unwrap_or_default().to_owned(),
        id: None,
        close: false,
        body: begin..begin,
    };
    for line in lines {
        let Some((name, value)) = line.split_once(':') else {
            return Found::Bad("a header line has no colon");
        };
        let value = value.trim();
        if name.eq_ignore_ascii_case("content-length") {
            match value.parse::<usize>() {
                Ok(length) if length <= MAX_BODY => request.body.end = begin + length,
                _ => return Found::Bad("the body's length is no number up to 64 MiB"),
            }
        } else if name.eq_ignore_ascii_case("transfer-encoding") {
            return Found::Bad("the body has no told length; send content-length");
        } else if name.eq_ignore_ascii_case("x-request-id") {
            request.id = Some(value.to_owned());
        } else if name.eq_ignore_ascii_case("connection") {
            request.close = value.eq_ignore_ascii_case("close");
        }
    }
    if bytes.len() < request.body.end {
        return Found::Part;
    }
    Found::Request(request)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_there_once_its_body_is() {
        let text =
            "POST /v1/completions?x=1 HTTP/1.1\r\nX-Request-Id: a1\r\nContent-Length: 2\r\n\r\n{}";
        let bytes = text.as_bytes();
        for end in 0..bytes.len() {
            assert_eq!(find(&bytes[..end]), Found::Part, "{end}");
        }
        let Found::Request(request) = find(bytes) else {
            panic!("no request");
        };
        assert_eq!(request.path, "/v1/completions");
        assert_eq!(request.id.as_deref(), Some("a1"));
        assert_eq!(&bytes[request.body], b"{}");
        assert!(request.is_post && !request.close);
    }

    #[test]
    fn what_cannot_be_a_request_is_told_from_a_part_of_one() {
        let long = format!("GET /{}", "a".repeat(MAX_HEAD));
        for bad in [
            "PUT / HTTP/1.1\r\n\r\n",
            "GET\r\n\r\n",
            "GET / HTTP/1.1\r\nno colon\r\n\r\n",
            "POST / HTTP/1.1\r\nContent-Length: 99999999999\r\n\r\n",
            "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n",
            &long,
        ] {
            assert!(matches!(find(bad.as_bytes()), Found::Bad(_)), "{bad:.60}");
        }
    }
}
