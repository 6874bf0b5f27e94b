//! Why a request failed.

use serde::{Deserialize, Serialize};

/// Kinds of failure, distinguished.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RequestErrorKind {
    /// Nothing listens there.
    Refused,
    /// No connection could be made for another reason.
    Connect,
    /// It took longer than the time-out.
    TimedOut,
    /// An HTTP status other than success.
    Status,
    /// An error object inside the stream or the reply.
    InStream,
    /// The stream ended before it was done.
    CutShort,
    /// The reply was not understood.
    Garbled,
    /// Fewer or more output tokens than asked for with the end of sequence ignored.
    WrongLength,
    /// More than four times the chunks of the tokens asked for came, and the reply was cut.
    ReplyTooLong,
}

impl std::fmt::Display for RequestErrorKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            Self::Refused => "refused",
            Self::Connect => "no connection",
            Self::TimedOut => "timed out",
            Self::Status => "HTTP status",
            Self::InStream => "error inside the reply",
            Self::CutShort => "cut short",
            Self::Garbled => "not understood",
            Self::WrongLength => "wrong length",
            Self::ReplyTooLong => "reply too long",
        })
    }
}
