//! What leader and followers say to each other.
//!
//! The variants' names stand outside: a tag inside is read by way of a value in which the numbers of a machine's nodes, being keys,
//! turn into text.

use serde::{Deserialize, Serialize};

use super::seat::Seat;
use crate::messages::{RankReply, RankRequest};

/// An order to a follower.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Order {
    /// It was understood who it is.
    Welcome,
    /// Start the process of the rank. Groups are counted, so that what one said is not taken for the next one's.
    Start {
        group: u64,
        /// Variables that the process has besides the follower's.
        environment: Vec<(String, String)>,
        /// Whether lines on its standard error are wanted.
        log: bool,
    },
    /// Pass on a request.
    Ask { group: u64, request: RankRequest },
    /// Ask it to leave, and end it where it does not.
    End { group: u64 },
    /// The run is over.
    Leave,
}

/// What a follower says.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Report {
    /// Of which job and rank it is, and with what it can work.
    Here {
        job: String,
        rank: u32,
        seat: Box<Seat>,
    },
    /// Why it cannot work, with its exit code.
    Refused {
        job: String,
        rank: u32,
        host: String,
        code: u8,
        reason: String,
    },
    /// The rank answered.
    Reply { group: u64, reply: RankReply },
    /// A line that the rank wrote on standard error.
    Line { group: u64, line: String },
    /// The rank's process is gone, in words; or what it said was not understood.
    Lost { group: u64, reason: String },
    /// The answer to [`Order::End`]: the rank's process is gone, or cannot be ended.
    Ended { group: u64, is_hung: bool },
    /// A signal came to the follower, by the exit code that it stands for.
    Signalled { code: u8 },
}
