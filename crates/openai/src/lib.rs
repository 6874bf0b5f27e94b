//! Replies of OpenAI-compatible serving engines, as bytes: HTTP/1.1, server-sent events, and what a chunk says.
//!
//! Nothing here touches a socket, a clock or a file, and nothing knows of instants: bytes go in, findings come out. What lies
//! on the way of every token allocates nothing: lines, events and texts are borrowed from the bytes of the read.
#![forbid(unsafe_code)]

mod body;
mod chunk;
mod head;
mod look;
mod sse;

pub use body::{Body, Framing};
pub use chunk::{Carries, Seen, Usage, words};
pub use head::Head;
pub use look::look;
pub use sse::{Event, LineTooLong, Reader};

/// Bytes of the heads before a reply's body, and of the trailer behind it, that are read at most.
pub const MAX_HEAD_BYTES: usize = 64 << 10;

/// Bytes of one line or of one event that are kept at most.
pub const MAX_LINE_BYTES: usize = 16 << 20;

/// What came is not HTTP/1.1.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NotHttp(pub &'static str);
