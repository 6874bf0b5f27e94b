//! Keeps what is found: on the disk first, then in memory for the tables.

use std::path::{Path, PathBuf};

use anyhow::anyhow;
use record::exit;
use record::{
    Failure, FolderError, Growing, Header, Journal, Line, Record, ResultFolder, SCHEMA, Simulated,
    Status,
};
use topology::Machine;

use crate::provenance;
use crate::sim;
use crate::stop::{Break, OTHER_FOLDER, Stop, signal_name, told};

/// The journal of a run and the payload it adds up to.
pub struct Recorder<P: Growing> {
    folder: ResultFolder,
    journal: Journal,
    header: Header,
    /// Everything that was added so far.
    pub payload: P,
}

/// A run that has a record.
#[derive(Debug)]
pub struct Ended {
    /// Everything that was found.
    pub record: Record,
    /// The result folder.
    pub folder: PathBuf,
    /// Why there is not more of it, or the disk does not have all of it.
    pub failed: Option<anyhow::Error>,
}

impl<P: Growing> Recorder<P> {
    /// Makes the result folder and begins its journal.
    ///
    /// # Errors
    /// The folder holds a result already ([`Stop::Usage`]), or cannot be written.
    pub fn begin(folder: &Path, header: Header) -> Result<Self, Stop> {
        let internal = |error: FolderError| Stop::Internal(anyhow!("{error}; {OTHER_FOLDER}"));
        let folder = ResultFolder::create(folder).map_err(|error| match error {
            FolderError::Taken(_) => Stop::Usage(error.to_string()),
            other => internal(other),
        })?;
        let mut journal = folder.begin_journal().map_err(internal)?;
        let line = Line::Header {
            header: Box::new(header.clone()),
        };
        journal.append(&line).map_err(internal)?;
        Ok(Self {
            folder,
            journal,
            header,
            payload: P::default(),
        })
    }

    /// Adds an event; it is in memory even where the disk refuses.
    ///
    /// # Errors
    /// The disk refuses, or the record is full ([`FolderError::Full`]): then it is nowhere.
    pub fn add(&mut self, event: P::Event) -> Result<(), FolderError> {
        let kept = self.journal.append(&P::line(event.clone()));
        self.grow(event, kept)
    }

    /// Adds one of very many events: written at once, so that a killed program has it, and flushed to the disk each second.
    ///
    /// # Errors
    /// As for `add`.
    pub fn add_soon(&mut self, event: P::Event) -> Result<(), FolderError> {
        let kept = self.journal.append_soon(&P::line(event.clone()));
        self.grow(event, kept)
    }

    /// Keeps the event in memory unless the journal is full: then it would be printed and not read back.
    fn grow(&mut self, event: P::Event, kept: Result<(), FolderError>) -> Result<(), FolderError> {
        if !matches!(kept, Err(FolderError::Full(_))) {
            self.payload.grow(event);
        }
        kept
    }

    /// Ends a run that could measure nothing: exit 3.
    #[must_use]
    pub fn refuse(self, reason: impl Into<Failure>) -> Ended {
        self.close(
            Status::Refused {
                reason: reason.into(),
            },
            exit::INCONCLUSIVE,
        )
    }

    /// Ends the run; `exit_code` tells the code that the findings of a complete run call for.
    ///
    /// # Errors
    /// The run was broken off by something that is neither a signal, the disk, nor an error of the program.
    pub fn end(
        self,
        outcome: Result<(), Break>,
        exit_code: impl FnOnce(&P) -> u8,
    ) -> Result<Ended, Stop> {
        let failed = match outcome {
            Ok(()) => {
                let code = exit_code(&self.payload);
                return Ok(self.close(Status::Complete, code));
            }
            Err(Break::Signal(signal)) => {
                let status = Status::Interrupted {
                    signal: signal_name(signal).to_owned(),
                };
                return Ok(self.close(status, signal.exit_code()));
            }
            Err(Break::NotDurable(error)) => not_durable(&error),
            Err(Break::Stop(Stop::Internal(error))) => error,
            Err(Break::Stop(stop)) => {
                self.close(Status::Broken, exit::INTERNAL);
                return Err(stop);
            }
        };
        // The table is printed from this record, so its last line says what happened; the disk may not have it.
        let status = Status::Failed {
            reason: told(&failed).into(),
        };
        let ended = self.close(status, exit::INTERNAL);
        Ok(Ended {
            failed: Some(failed),
            ..ended
        })
    }

    /// Writes the last line and the record, which is rebuilt from the journal; the one that is returned is that in memory.
    fn close(mut self, status: Status, exit_code: u8) -> Ended {
        let durable = self
            .journal
            .append(&Line::End {
                status: status.clone(),
                exit_code,
            })
            .and_then(|()| self.folder.write_record().map(drop));
        Ended {
            record: Record {
                header: self.header,
                status,
                exit_code,
                payload: self.payload.into_payload(),
            },
            folder: self.folder.path().to_owned(),
            failed: durable.err().map(|error| not_durable(&error)),
        }
    }
}

fn not_durable(error: &FolderError) -> anyhow::Error {
    // The error's own text ends with the system's reason.
    anyhow!("the result is not on the disk in full: {error}")
}

/// The header of a record of this program, `program` and `version` being its package's.
#[must_use]
pub fn header(program: &str, version: &str, machine: &Machine, soft_box: Option<String>) -> Header {
    Header {
        schema: SCHEMA,
        program: program.to_owned(),
        version: version.to_owned(),
        simulated: soft_box.map(|box_name| Simulated { box_name }),
        provenance: provenance::provenance(machine),
    }
}

/// The folder that was asked for, or a new one named by `prefix`, time and process; a restarted program goes on in the folder it was given.
#[must_use]
pub fn result_folder(asked: Option<&Path>, prefix: &str) -> PathBuf {
    if let Some(folder) = sim::result_folder() {
        return folder;
    }
    match asked {
        Some(folder) => folder.to_owned(),
        None => PathBuf::from("tplens-results").join(new_name(prefix)),
    }
}

/// A folder below the temporary one for what is listed and not kept; a restarted program goes on in the folder it was given.
#[must_use]
pub fn passing_folder(prefix: &str) -> PathBuf {
    sim::result_folder()
        .unwrap_or_else(|| std::env::temp_dir().join(format!("tplens-{}", new_name(prefix))))
}

/// A name that no other run has.
fn new_name(prefix: &str) -> String {
    format!(
        "{prefix}-{}-{}",
        provenance::now().replace(':', ""),
        std::process::id()
    )
}
