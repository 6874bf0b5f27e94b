//! The journal of a run, `journal.jsonl`: what was done and found, a line each, on the disk before the run goes on. It is what a run
//! that was broken off goes on from, and what a report can be made of that was never written.
//!
//! What it adds up to is read in `kept`. The records of the programs are in folders of their own; a line names them. Names of machines and devices stand in it as they are:
//! it stays where it is, and what is handed on is the report.

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};
use measure::private;
use program::hold::Held;
use program::{Stop, say};
use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};

use super::counters::Reading;
use super::kept::{Kept, read};
use super::key::Key;
use crate::checks::Group;
use crate::findings::Missing;
use crate::report::{Check, Report};

/// Its name in the result folder.
pub(crate) const FILE: &str = "journal.jsonl";

/// Version of its lines.
pub(super) const SCHEMA: u32 = 1;

/// One line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Entry {
    /// The first line: what the run is of.
    Begin {
        /// Version of the lines.
        schema: u32,
        /// What must be equal for the run to be gone on with.
        key: Box<Key>,
        /// The report without checks.
        report: Box<Report>,
    },
    /// A process took the run up, the first one among them.
    Segment {
        /// Wall clock, RFC 3339.
        at: String,
        /// The kernel's boot.
        boot: Option<String>,
    },
    /// Counters before the first load.
    Before {
        /// What was read.
        reading: Box<Reading>,
    },
    /// A step ended.
    Step {
        /// What it was of.
        group: Group,
        /// Its name in the plan, by which it is not done twice; one that broke is, and the later line counts.
        name: String,
        /// Its folder, relative to the result folder.
        folder: String,
        /// Seconds that it took.
        took_s: f64,
        /// Why it left nothing, or not all.
        missing: Option<Missing>,
        /// Why the monitor did not watch it to its end; absent where it did, and in journals of before.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        unwatched: Option<String>,
    },
    /// What came of a check until now; a later line of the same id replaces it.
    Check {
        /// The check.
        check: Box<Check>,
    },
    /// The run ended by itself, or was told to.
    End {
        /// The report, as it was written.
        report: Box<Report>,
    },
}

/// What a step came to, as its line has it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Done {
    /// What it was of.
    pub(crate) group: Group,
    /// Its name in the plan.
    pub(crate) name: String,
    /// Its folder, relative to the result folder.
    pub(crate) folder: String,
    /// Seconds that it took.
    pub(crate) took_s: f64,
    /// Why it left nothing, or not all.
    pub(crate) missing: Option<Missing>,
    /// Why the monitor did not watch it to its end.
    pub(crate) unwatched: Option<String>,
}

/// A journal that is written.
#[derive(Debug)]
pub(crate) struct Journal {
    path: PathBuf,
    file: File,
}

impl Journal {
    /// Begins one in a folder that has none.
    ///
    /// # Errors
    /// The disk refuses.
    pub(crate) fn begin(folder: &Path, key: &Key, report: &Report) -> Result<Self, Stop> {
        let path = folder.join(FILE);
        let file = match private::append_new(&path) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                return Err(Stop::Usage(format!(
                    "another accept began a run in {} meanwhile; choose another folder with --out",
                    folder.display()
                )));
            }
            other => other.with_context(|| format!("cannot begin {}", path.display()))?,
        };
        hold(&file, folder)?;
        let mut journal = Self { path, file };
        journal.add(&Entry::Begin {
            schema: SCHEMA,
            key: Box::new(key.clone()),
            report: Box::new(report.clone()),
        })?;
        File::open(folder)
            .and_then(|folder| folder.sync_all())
            .with_context(|| format!("cannot flush the folder {}", folder.display()))?;
        Ok(journal)
    }

    /// Goes on with one; what stands behind its last whole line is cut off.
    ///
    /// # Errors
    /// The disk refuses.
    pub(crate) fn go_on(folder: &Path, kept: &Kept) -> Result<Self, Stop> {
        let path = folder.join(FILE);
        let file = OpenOptions::new()
            .append(true)
            .custom_flags(OFlags::NOFOLLOW.bits().cast_signed())
            .open(&path)
            .and_then(|file| file.set_len(kept.whole_bytes).map(|()| file))
            .with_context(|| format!("cannot go on with {}", path.display()))?;
        Ok(Self { path, file })
    }

    /// Adds a line; it is on the disk when this returns.
    ///
    /// # Errors
    /// The disk refuses; half a line is taken back where that can be.
    pub(crate) fn add(&mut self, entry: &Entry) -> Result<(), Stop> {
        let mut line = serde_json::to_vec(entry).context("writing a line of the journal")?;
        line.push(b'\n');
        let before = self.file.metadata().map(|found| found.len());
        let written = self.file.write_all(&line);
        if written.is_err() {
            drop(before.and_then(|length| self.file.set_len(length)));
        }
        written
            .and_then(|()| self.file.sync_data())
            .with_context(|| format!("cannot write {}", self.path.display()))?;
        Ok(())
    }
}

/// The journal of a folder that is to be gone on with, and what holds it for this process while it is open.
///
/// # Errors
/// There is none that can be used, or another process is at it.
pub(crate) fn of_folder(folder: &Path) -> Result<(Kept, File), Stop> {
    let path = folder.join(FILE);
    let is_file = path
        .symlink_metadata()
        .is_ok_and(|found| found.file_type().is_file());
    if !is_file {
        return Err(Stop::Usage(format!(
            "{} holds no {FILE} of a run; start one with --out",
            folder.display()
        )));
    }
    let held = OpenOptions::new()
        .append(true)
        .custom_flags(OFlags::NOFOLLOW.bits().cast_signed())
        .open(&path)
        .map_err(|error| Stop::Usage(format!("cannot go on with {}: {error}", path.display())))?;
    // Read only once nobody else writes it.
    hold(&held, folder)?;
    Ok((read(&path).map_err(Stop::Usage)?, held))
}

/// Holds a run for this process alone, for as long as the file is open.
fn hold(file: &File, folder: &Path) -> Result<(), Stop> {
    match program::hold::hold(file) {
        Held::Here => Ok(()),
        Held::Elsewhere(holder) => {
            let holder = holder.map_or_else(String::new, |pid| format!(" (pid {pid})"));
            Err(Stop::Usage(format!(
                "another accept{holder} is at the run in {}; wait until it has ended",
                folder.display()
            )))
        }
        // Some file systems have no locks; the run is told that nothing keeps another one away.
        Held::Unknown(errno) => {
            say!(
                "{} cannot be locked ({errno}): start no other accept in it",
                folder.display()
            );
            Ok(())
        }
    }
}

/// An error that the disk made before a run had a journal, so that there is nothing to go on with.
pub(super) fn not_begun(stop: Stop, folder: &Path) -> Stop {
    match stop {
        Stop::Internal(error) => Stop::Internal(anyhow!(
            "the run could not begin in {}: {error:#}; make room, and start it anew with another --out",
            folder.display()
        )),
        other => other,
    }
}

/// An error that the disk made, as the end of a run in this folder.
pub(crate) fn not_durable(stop: Stop, folder: &Path) -> Stop {
    match stop {
        Stop::Internal(error) => Stop::Internal(anyhow!(
            "the result is not on the disk in full: {error:#}; make room, and the same command with --resume {} in place of --out goes on with it",
            folder.display()
        )),
        other => other,
    }
}
