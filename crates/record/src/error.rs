//! Why a record cannot be read.

use thiserror::Error;

use crate::control;
use crate::schema::SCHEMA;

/// Characters of a parser's message that are kept: it quotes what it did not expect, which may be a whole file.
const PARSERS_WORDS: usize = 300;

/// Why a record or journal could not be read.
#[derive(Debug, Error)]
pub enum RecordError {
    /// Not JSON, or not a record.
    #[error("{origin} is not a record: {}", control::first(&source.to_string(), PARSERS_WORDS))]
    NotARecord {
        /// The file.
        origin: String,
        /// What the parser said.
        source: serde_json::Error,
    },
    /// A file without content.
    #[error("{origin} is empty; was the disk full when it was written?")]
    Empty {
        /// The file.
        origin: String,
    },
    /// JSON that ends before its end.
    #[error("{origin} is not whole JSON: it ends at line {line}; was it copied in full?")]
    CutOff {
        /// The file.
        origin: String,
        /// Number of its last line.
        line: usize,
    },
    /// A journal without its first line.
    #[error(
        "{origin} has no header line, so nothing of it can be used; was the disk full when it began?"
    )]
    NoHeader {
        /// The file.
        origin: String,
    },
    /// Events of another program than the one in the header.
    #[error(
        "{origin}, line {line} is not of a journal of {}; was another journal appended?",
        control::shortened(program)
    )]
    Mixed {
        /// The file.
        origin: String,
        /// Number of the line.
        line: usize,
        /// The program in the header.
        program: String,
    },
    /// A request with an instant that cannot be.
    #[error(
        "{origin}: {field} of request {request} is no time within the request; was the file changed?"
    )]
    Times {
        /// The file.
        origin: String,
        /// The request's number.
        request: u32,
        /// The field.
        field: &'static str,
    },
    /// A duration that cannot be.
    #[error("{origin}: duration_s of the summary is none of a run; was the file changed?")]
    Duration {
        /// The file.
        origin: String,
    },
    /// Written by a newer program.
    #[error("{origin} has schema {found}, this program reads up to {SCHEMA}; use a newer tplens")]
    TooNew {
        /// The file.
        origin: String,
        /// Its schema number.
        found: u64,
    },
}
