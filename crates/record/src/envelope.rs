//! The envelope around every payload, and the journal lines it is rebuilt from.

use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};

use super::collectives::{Collectives, CollectivesEvent};
use super::error::RecordError;
use super::links::{Links, LinksEvent};
use super::numa::{NUMA_PROGRAM, Numa, NumaEvent};
use super::provenance::Provenance;
use super::schema::SCHEMA;
use super::serve::{Serve, ServeEvent};
use super::times;
use crate::failure::Failure;

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
    /// Program that wrote it, such as `tplens p2p`.
    pub program: String,
    /// Its version.
    pub version: String,
    /// Set where vendor drivers were soft: such numbers are arithmetic, not measurements.
    pub simulated: Option<Simulated>,
    /// Where it comes from.
    pub provenance: Provenance,
}

impl Header {
    /// The command that wrote it: records keep the name of the program that each was before all were one.
    #[must_use]
    pub fn command(&self) -> &str {
        match self.program.as_str() {
            "p2p-bw" => "tplens p2p",
            crate::NUMA_PROGRAM => "tplens numa",
            "allreduce-bench" => "tplens allreduce",
            "serve-bench" => "tplens serve run",
            other => other,
        }
    }
}

/// Which simulated machine stood behind a record.
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
    /// It ended without saying so: killed, crashed, its disk full, or the machine went down.
    Broken,
    /// The program or its disk failed, which it could still say.
    Failed {
        /// Why, in words.
        reason: Failure,
    },
    /// Nothing could be measured.
    Refused {
        /// Why, with the next step.
        reason: Failure,
    },
}

/// The payload, one kind per program.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Payload {
    /// Links between host and devices, from `tplens p2p`.
    Links(Box<Links>),
    /// Collective operations, from `tplens allreduce`.
    Collectives(Box<Collectives>),
    /// A serving benchmark, from `tplens serve run`.
    Serve(Box<Serve>),
    /// Host memory by node, from `tplens numa`.
    Numa(Box<Numa>),
}

impl Payload {
    /// What it is, in words.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Links(_) => "links of tplens p2p",
            Self::Collectives(_) => "collectives of tplens allreduce",
            Self::Serve(_) => "a serving benchmark of tplens serve run",
            Self::Numa(_) => "host memory by node of tplens numa",
        }
    }
}

/// A payload while its run goes on: it grows by events, each of which is a journal line.
pub trait Growing: Default {
    /// One addition.
    type Event: Clone;

    /// Adds what an event says.
    fn grow(&mut self, event: Self::Event);

    /// The journal line of an event.
    fn line(event: Self::Event) -> Line;

    /// The payload of the record.
    fn into_payload(self) -> Payload;
}

/// Implements [`Growing`] for a payload, its event, and their variant of [`Line`] and [`Payload`].
macro_rules! growing {
    ($payload:ident, $event:ident) => {
        impl Growing for $payload {
            type Event = $event;

            fn grow(&mut self, event: $event) {
                self.apply(event);
            }

            fn line(event: $event) -> Line {
                Line::$payload {
                    event: Box::new(event),
                }
            }

            fn into_payload(self) -> Payload {
                Payload::$payload(Box::new(self))
            }
        }
    };
}

growing!(Links, LinksEvent);
growing!(Collectives, CollectivesEvent);
growing!(Serve, ServeEvent);
growing!(Numa, NumaEvent);

/// One line of a journal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Line {
    /// The first line.
    Header {
        /// The record's header.
        header: Box<Header>,
    },
    /// Something that `tplens p2p` found.
    Links {
        /// What.
        event: Box<LinksEvent>,
    },
    /// Something that `tplens allreduce` found.
    Collectives {
        /// What.
        event: Box<CollectivesEvent>,
    },
    /// Something that `tplens serve run` found.
    Serve {
        /// What.
        event: Box<ServeEvent>,
    },
    /// Something that `tplens numa` found.
    Numa {
        /// What.
        event: Box<NumaEvent>,
    },
    /// The last line of a run that ended by itself.
    End {
        /// How.
        status: Status,
        /// The exit code returned.
        exit_code: u8,
    },
}

impl Record {
    /// Reads a record from its JSON.
    ///
    /// # Errors
    /// Text that is no record, or one of a newer schema; unknown fields of the same schema are passed over.
    pub fn from_json(text: &str, origin: &str) -> Result<Self, RecordError> {
        if text.trim().is_empty() {
            let origin = origin.to_owned();
            return Err(RecordError::Empty { origin });
        }
        let not_a_record = |source: serde_json::Error| match source.is_eof() {
            true => RecordError::CutOff {
                origin: origin.to_owned(),
                line: source.line(),
            },
            false => RecordError::NotARecord {
                origin: origin.to_owned(),
                source,
            },
        };
        // A record of a newer schema may have another form.
        if let Ok(versioned) = serde_json::from_str::<Versioned>(text)
            && versioned.header.schema > u64::from(SCHEMA)
        {
            return Err(RecordError::TooNew {
                origin: origin.to_owned(),
                found: versioned.header.schema,
            });
        }
        let record: Self = serde_json::from_str(text).map_err(not_a_record)?;
        record.checked(origin)
    }

    /// The record of a file of ours, or the one that its journal adds up to; `None` where the text is neither.
    ///
    /// # Errors
    /// As [`Self::from_json`] and [`Self::from_journal`].
    pub fn from_text(text: &str, origin: &str) -> Result<Option<Self>, RecordError> {
        // Ranks of mpirun stand in brackets, which are a list in JSON.
        if !text.trim_start().starts_with('{') {
            return Ok(None);
        }
        let mut values = serde_json::Deserializer::from_str(text).into_iter::<Parts>();
        let parts = values.next().and_then(Result::ok).unwrap_or_default();
        match (parts.header, parts.payload) {
            (Some(_), Some(_)) => Self::from_json(text, origin).map(Some),
            (Some(_), None) => Self::from_journal(text, origin).map(Some),
            (None, _) => Ok(None),
        }
    }

    /// The record, where its values can be.
    fn checked(self, origin: &str) -> Result<Self, RecordError> {
        if let Payload::Serve(serve) = &self.payload {
            times::check(serve, origin)?;
        }
        Ok(self)
    }

    /// Rebuilds a record from a journal; a torn last line is passed over.
    ///
    /// # Errors
    /// A journal without a header, a whole line that is no journal line, or a newer schema.
    pub fn from_journal(text: &str, origin: &str) -> Result<Self, RecordError> {
        let mut header: Option<Header> = None;
        let mut payload = None;
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
            let fits = match (line, &mut payload) {
                (Line::Header { header: first }, _) => {
                    if first.schema > SCHEMA {
                        let found = u64::from(first.schema);
                        return Err(RecordError::TooNew {
                            origin: origin.to_owned(),
                            found,
                        });
                    }
                    payload = Some(empty_payload(&first.program));
                    header = Some(*first);
                    true
                }
                (Line::Links { event }, Some(Payload::Links(links))) => {
                    links.apply(*event);
                    true
                }
                (Line::Collectives { event }, Some(Payload::Collectives(collectives))) => {
                    collectives.apply(*event);
                    true
                }
                (Line::Serve { event }, Some(Payload::Serve(serve))) => {
                    serve.apply(*event);
                    true
                }
                (Line::Numa { event }, Some(Payload::Numa(numa))) => {
                    numa.apply(*event);
                    true
                }
                (
                    Line::End {
                        status: end,
                        exit_code: code,
                    },
                    _,
                ) => {
                    (status, exit_code) = (end, code);
                    true
                }
                // Without a header nothing can be used, which is said below.
                (_, None) => true,
                (_, Some(_)) => false,
            };
            if !fits {
                return Err(RecordError::Mixed {
                    origin: origin.to_owned(),
                    line: index + 1,
                    program: header.map_or_else(String::new, |header| header.program),
                });
            }
        }
        let no_header = || RecordError::NoHeader {
            origin: origin.to_owned(),
        };
        let record = Self {
            header: header.ok_or_else(no_header)?,
            status,
            exit_code,
            payload: payload.ok_or_else(no_header)?,
        };
        record.checked(origin)
    }
}

/// The schema of a record, whatever else is in it.
#[derive(Deserialize)]
struct Versioned {
    header: VersionedHeader,
}

#[derive(Deserialize)]
struct VersionedHeader {
    schema: u64,
}

/// The keys by which a record and a journal's first line are known.
#[derive(Default, Deserialize)]
struct Parts {
    header: Option<IgnoredAny>,
    payload: Option<IgnoredAny>,
}

/// What a program's journal adds up to before its first event.
fn empty_payload(program: &str) -> Payload {
    match program {
        "allreduce-bench" => Collectives::default().into_payload(),
        "serve-bench" => Serve::default().into_payload(),
        NUMA_PROGRAM => Numa::default().into_payload(),
        _ => Links::default().into_payload(),
    }
}
