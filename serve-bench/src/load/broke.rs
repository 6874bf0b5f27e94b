//! Why an exchange broke.

use std::time::Duration;

/// What broke an exchange below the level of its content.
#[derive(Debug)]
pub(super) enum Broke {
    /// Nothing listens there.
    Refused(String),
    /// No connection could be made for another reason.
    Connect(String),
    /// It took longer than this.
    TimedOut(Duration),
    /// The connection ended.
    Cut(String),
    /// What came was not HTTP.
    NotHttp(String),
    /// More came than any reply can be; what is larger than what.
    TooLarge(&'static str),
    /// More chunks with tokens came than these.
    TooLong(usize),
}
