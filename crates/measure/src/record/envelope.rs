//! The envelope around every payload, and the journal lines it is rebuilt from.

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::links::{Links, LinksEvent};
use super::provenance::Provenance;

/// The schema's number; it grows only when an older reader would misunderstand a newer record.
pub const SCHEMA: u32 = 1;

/// Everything that one run of a program found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// What was known before the first measurement.
    pub header: Header,
    /// How the run ended.
    pub status: Status,
    /// The exit code that the program returned, or would have if it had not been killed.
    pub exit_code: u8,
    /// What was measured.
    pub payload: Payload,
}

/// What is known before the first measurement: the journal's first line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Header {
    /// Schema number, [`SCHEMA`].
    pub schema: u32,
    /// Program that wrote it, such as `p2p-bw`.
    pub program: String,
    /// Its version.
    pub version: String,
    /// Set where vendor drivers were soft: such numbers are arithmetic, not measurements.
    pub simulated: Option<Simulated>,
    /// Where it comes from.
    pub provenance: Provenance,
}

/// Which soft box stood behind a record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Simulated {
    /// The box's name.
    pub box_name: String,
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum Status {
    /// All that was planned was measured or has a reason why not.
    Complete,
    /// A signal ended it early.
    Interrupted {
        /// `SIGINT`, `SIGTERM` or `SIGHUP`.
        signal: String,
    },
    /// It ended without saying so: killed, crashed, or the machine went down.
    Broken,
    /// Nothing could be measured.
    Refused {
        /// Why, with the next step.
        reason: String,
    },
}

/// The payload, one kind per program.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Payload {
    /// Links between host and devices, from `p2p-bw`.
    Links(Box<Links>),
}

/// One line of a journal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Line {
    /// The first line.
    Header {
        /// The record's header.
        header: Box<Header>,
    },
    /// Something that `p2p-bw` found.
    Links {
        /// What.
        event: Box<LinksEvent>,
    },
    /// The last line of a run that ended by itself.
    End {
        /// How.
        status: Status,
        /// The exit code returned.
        exit_code: u8,
    },
}

/// Why a record or journal could not be read.
#[derive(Debug, Error)]
pub enum RecordError {
    /// Not JSON, or not a record.
    #[error("{origin} is not a record: {source}")]
    NotARecord {
        /// The file.
        origin: String,
        /// What the parser said.
        source: serde_json::Error,
    },
    /// A journal without its first line.
    #[error(
        "{origin} has no header line, so nothing of it can be used; was the disk full when it began?"
    )]
    NoHeader {
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

impl Record {
    /// Reads a record from its JSON.
    ///
    /// # Errors
    /// Text that is no record, or one of a newer schema; unknown fields of the same schema are passed over.
    pub fn from_json(text: &str, origin: &str) -> Result<Self, RecordError> {
        let not_a_record = |source| RecordError::NotARecord {
            origin: origin.to_owned(),
            source,
        };
        let value: serde_json::Value = serde_json::from_str(text).map_err(not_a_record)?;
        if let Some(found) = value
            .pointer("/header/schema")
            .and_then(serde_json::Value::as_u64)
            && found > u64::from(SCHEMA)
        {
            return Err(RecordError::TooNew {
                origin: origin.to_owned(),
                found,
            });
        }
        serde_json::from_value(value).map_err(not_a_record)
    }

    /// Rebuilds a record from a journal; a torn last line is passed over.
    ///
    /// # Errors
    /// A journal without a header, a whole line that is no journal line, or a newer schema.
    pub fn from_journal(text: &str, origin: &str) -> Result<Self, RecordError> {
        let mut header = None;
        let mut links = Links::default();
        let (mut status, mut exit_code) = (Status::Broken, crate::exit::INTERNAL);
        let lines: Vec<&str> = text.lines().collect();
        for (index, text_line) in lines.iter().enumerate() {
            let torn = index + 1 == lines.len() && !text.ends_with('\n');
            let line: Line = match serde_json::from_str(text_line) {
                Ok(line) => line,
                Err(_) if torn => break,
                Err(source) => {
                    return Err(RecordError::NotARecord {
                        origin: format!("{origin}, line {}", index + 1),
                        source,
                    });
                }
            };
            match line {
                Line::Header { header: first } => {
                    if first.schema > SCHEMA {
                        let found = u64::from(first.schema);
                        return Err(RecordError::TooNew {
                            origin: origin.to_owned(),
                            found,
                        });
                    }
                    header = Some(*first);
                }
                Line::Links { event } => links.apply(*event),
                Line::End {
                    status: end,
                    exit_code: code,
                } => (status, exit_code) = (end, code),
            }
        }
        let header = header.ok_or_else(|| RecordError::NoHeader {
            origin: origin.to_owned(),
        })?;
        Ok(Self {
            header,
            status,
            exit_code,
            payload: Payload::Links(Box::new(links)),
        })
    }
}
