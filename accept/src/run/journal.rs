//! The journal of a run, `journal.jsonl`: what was done and found, a line each, on the disk before the run goes on. It is what a run
//! that was broken off goes on from, and what a report can be made of that was never written.
//!
//! The records of the programs are in folders of their own; a line names them. Names of machines and devices stand in it as they are:
//! it stays where it is, and what is handed on is the report.

use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};
use program::{Stop, say};
use rustix::fs::{FlockOperation, OFlags, flock};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use super::counters::Reading;
use super::key::Key;
use crate::checks::Group;
use crate::findings::Missing;
use crate::plural::plural;
use crate::report::{BoxVerdict, Check, Report, RunStatus, Verdict};

/// Its name in the result folder.
pub(crate) const FILE: &str = "journal.jsonl";

/// Version of its lines.
const SCHEMA: u32 = 1;

/// A journal above this is none of ours.
const MAX_BYTES: u64 = 256 << 20;

/// A line above this is none of ours: the longest holds a report.
const MAX_LINE: u64 = 64 << 20;

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
        /// Its name in the plan, by which it is not done twice.
        name: String,
        /// Its folder, relative to the result folder.
        folder: String,
        /// Seconds that it took.
        took_s: f64,
        /// Why it left nothing, or not all.
        missing: Option<Missing>,
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
}

/// What a journal adds up to.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Kept {
    /// What must be equal for the run to be gone on with.
    pub(crate) key: Key,
    /// The report without checks, or the whole one of a run that ended.
    pub(crate) report: Report,
    /// Boots of the processes that took the run up.
    pub(crate) boots: Vec<Option<String>>,
    /// Counters before the first load.
    pub(crate) before: Option<Reading>,
    /// Steps that ended, in their order.
    pub(crate) done: Vec<Done>,
    /// Seconds that they took together.
    pub(crate) took_s: f64,
    /// What checks came to last, in the order in which they were told first.
    pub(crate) checks: Vec<Check>,
    /// Whether the run ended by itself or was told to.
    pub(crate) is_ended: bool,
    /// The reports with which it ended until now, the last two of them: the last is on the disk here before it is in a file of its own.
    pub(crate) ends: Vec<Report>,
    /// Bytes behind the last whole line, which are passed over.
    pub(crate) torn_bytes: u64,
    /// Bytes up to the end of the last whole line.
    whole_bytes: u64,
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
        let file = OpenOptions::new()
            .create_new(true)
            .append(true)
            .mode(0o600)
            .open(&path);
        let file = match file {
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

/// Reads a journal; a torn last line is passed over, and counted.
///
/// # Errors
/// In one sentence: it cannot be read, has no first line, or a line that is none or stands where no run writes it.
pub(crate) fn read(path: &Path) -> Result<Kept, String> {
    let shown = path.display();
    let unread = |error: std::io::Error| format!("cannot read {shown}: {error}");
    let file = File::open(path).map_err(unread)?;
    if file.metadata().map_err(unread)?.len() > MAX_BYTES {
        return Err(format!(
            "{shown} is larger than 256 MiB, which no journal of a run is"
        ));
    }
    kept(BufReader::new(file.take(MAX_BYTES))).map_err(|why| format!("{shown}{why}"))
}

fn kept(mut lines: impl BufRead) -> Result<Kept, String> {
    let mut kept: Option<Kept> = None;
    let (mut line, mut whole_bytes) = (Vec::new(), 0);
    for number in 1.. {
        line.clear();
        let read = (&mut lines).take(MAX_LINE).read_until(b'\n', &mut line);
        let length = read.map_err(|error| format!(", line {number}, cannot be read: {error}"))?;
        let length = u64::try_from(length).unwrap_or(MAX_LINE);
        if length == MAX_LINE {
            return Err(format!(
                ", line {number}, is longer than 64 MiB, which no line of a run's journal is"
            ));
        }
        if line.last() != Some(&b'\n') {
            if let Some(kept) = &mut kept {
                (kept.torn_bytes, kept.whole_bytes) = (length, whole_bytes);
                kept.not_torn_behind_its_end()
                    .map_err(|what| format!(", line {number}, {what}"))?;
            }
            break;
        }
        whole_bytes += length;
        let entry: Entry = serde_json::from_slice(&line)
            .map_err(|error| format!(", line {number}, is no line of a run's journal: {error}"))?;
        match (entry, &mut kept) {
            (Entry::Begin { schema, .. }, None) if schema > SCHEMA => {
                return Err(format!(
                    " has schema {schema}, this program reads up to {SCHEMA}; use a newer tplens"
                ));
            }
            (Entry::Begin { key, report, .. }, None) => {
                kept = Some(Kept {
                    key: *key,
                    report: *report,
                    boots: Vec::new(),
                    before: None,
                    done: Vec::new(),
                    took_s: 0.0,
                    checks: Vec::new(),
                    is_ended: false,
                    ends: Vec::new(),
                    torn_bytes: 0,
                    whole_bytes: 0,
                });
            }
            (Entry::Begin { .. }, Some(_)) => {
                return Err(format!(
                    ", line {number}, begins another run; was another journal appended?"
                ));
            }
            (entry, Some(kept)) => kept
                .apply(entry)
                .map_err(|what| format!(", line {number}, {what}"))?,
            (_, None) => break,
        }
    }
    kept.ok_or_else(|| {
        " has no first line, so nothing of it can be used; start the run anew with another --out"
            .to_owned()
    })
}

/// What stands behind the end of a run, of which there is nothing more to tell.
const BEHIND: &str = "stands behind the end of the run, where no run writes one: the journal was changed after it; a copy of it from before is what can be trusted";

impl Kept {
    /// A run that is complete is not gone on with; one that was told to stop begins what follows by saying who took it up.
    fn apply(&mut self, entry: Entry) -> Result<(), String> {
        let goes_on = matches!(entry, Entry::Segment { .. }) && !self.is_complete();
        if self.is_ended && !goes_on {
            return Err(BEHIND.to_owned());
        }
        match entry {
            // Told apart by the caller.
            Entry::Begin { .. } => {}
            Entry::Segment { boot, .. } => {
                self.boots.push(boot);
                self.is_ended = false;
            }
            Entry::Before { reading } => self.before = Some(*reading),
            Entry::Step {
                group,
                name,
                folder,
                took_s,
                missing,
            } => {
                self.took_s += took_s;
                self.done.push(Done {
                    group,
                    name,
                    folder,
                    took_s,
                    missing,
                });
            }
            Entry::Check { check } => {
                match self.checks.iter_mut().find(|known| known.id == check.id) {
                    Some(known) => *known = *check,
                    None => self.checks.push(*check),
                }
            }
            Entry::End { report } => {
                self.checks.clone_from(&report.checks);
                self.report = *report;
                self.is_ended = true;
                if self.ends.len() > 1 {
                    self.ends.remove(0);
                }
                self.ends.push(self.report.clone());
            }
        }
        Ok(())
    }

    fn is_complete(&self) -> bool {
        self.is_ended && self.report.status == RunStatus::Complete
    }

    /// A line that was begun and not ended may stand behind whatever is gone on with.
    fn not_torn_behind_its_end(&self) -> Result<(), String> {
        match self.torn_bytes > 0 && self.is_complete() {
            true => Err(BEHIND.to_owned()),
            false => Ok(()),
        }
    }

    /// The report of the run: the one that was written, or, where the run did not end by itself, what its checks had come to. Such
    /// a box is never accepted.
    pub(crate) fn report(&self) -> Report {
        if self.is_ended {
            return self.report.clone();
        }
        let mut report = self.report.clone();
        report.status = RunStatus::Broken;
        report.took_s = self.took_s;
        report.checks.clone_from(&self.checks);
        let is_failed = |check: &Check| check.required && check.verdict == Verdict::Fail;
        report.verdict = match report.checks.iter().any(is_failed) {
            true => BoxVerdict::Rejected,
            false => BoxVerdict::Inconclusive,
        };
        report.exit_code = report.verdict.exit_code();
        report.notes.push(
            "the run did not end by itself: killed, or the machine went down; `accept run --resume` goes on with it".to_owned(),
        );
        if self.torn_bytes > 0 {
            report.notes.push(format!(
                "the last line of its journal is torn and passed over ({})",
                plural(self.torn_bytes, "byte")
            ));
        }
        report
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
    match flock(file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(()),
        Err(Errno::WOULDBLOCK) => {
            let holder = holder(file).map_or_else(String::new, |pid| format!(" (pid {pid})"));
            Err(Stop::Usage(format!(
                "another accept{holder} is at the run in {}; wait until it has ended",
                folder.display()
            )))
        }
        // Some file systems have no locks; the run is told that nothing keeps another one away.
        Err(errno) => {
            say!(
                "{} cannot be locked ({errno}): start no other accept in it",
                folder.display()
            );
            Ok(())
        }
    }
}

/// The process that holds a file, where the kernel tells: `1: FLOCK  ADVISORY  WRITE 4711 fe:00:1234 0 EOF`.
fn holder(file: &File) -> Option<String> {
    let inode = file.metadata().ok()?.ino().to_string();
    let locks = std::fs::read_to_string("/proc/locks").ok()?;
    locks.lines().find_map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [_, "FLOCK", _, _, pid, place, ..] = words[..] else {
            return None;
        };
        (place.rsplit(':').next() == Some(inode.as_str())).then(|| pid.to_owned())
    })
}

/// An error that the disk made, as a run's end.
pub(crate) fn not_durable(stop: Stop) -> Stop {
    match stop {
        Stop::Internal(error) => {
            Stop::Internal(anyhow!("the result is not on the disk in full: {error:#}"))
        }
        other => other,
    }
}
