//! Why a request failed.

use serde::{Deserialize, Serialize};

/// Kinds of failure, distinguished.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, strum::Display,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "lowercase")]
pub enum RequestErrorKind {
    /// Nothing listens there.
    Refused,
    /// No connection could be made for another reason.
    #[strum(serialize = "no connection")]
    Connect,
    /// It took longer than the time-out.
    #[strum(serialize = "timed out")]
    TimedOut,
    /// An HTTP status other than success.
    #[strum(serialize = "HTTP status")]
    Status,
    /// An error object inside the stream or the reply.
    #[strum(serialize = "error inside the reply")]
    InStream,
    /// The stream ended before it was done.
    #[strum(serialize = "cut short")]
    CutShort,
    /// The reply was not understood.
    #[strum(serialize = "not understood")]
    Garbled,
    /// Fewer or more output tokens than asked for with the end of sequence ignored.
    #[strum(serialize = "wrong length")]
    WrongLength,
    /// More than four times the chunks of the tokens asked for came, and the reply was cut.
    #[strum(serialize = "reply too long")]
    ReplyTooLong,
}
