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
