//! The journal of a run: what a run that was broken off needs to be resumed. One line of JSON for each thing, on the disk before the
//! next begins.
//!
//! What was measured stands in the folders of the steps, and what it came to in the report.

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};
use program::{Stop, say};
use record::private;
use runner::run::Held;
use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};

use super::counters::Reading;
use super::key::Key;
use crate::checks::Group;
use crate::findings::Missing;

/// Its name in the result folder.
pub(crate) const FILE: &str = "journal.jsonl";

const SCHEMA: u32 = 3;

/// A line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Entry {
    /// The first line.
    Begin {
        schema: u32,
        key: Key,
        started: String,
    },
    /// The counters before anything was measured.
    Before { reading: Box<Reading> },
    /// A step has ended.
    Step(Done),
}

/// A step that has ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Done {
    pub(crate) group: Group,
    pub(crate) name: String,
    /// Its folder below that of the run.
    pub(crate) folder: String,
    pub(crate) took_s: f64,
    /// What it lacks.
    pub(crate) missing: Option<Missing>,
    /// Why the monitor did not see it to its end.
    pub(crate) unwatched: Option<String>,
}

impl Done {
    /// Whether it broke, so that a resumed run does it again.
    pub(crate) fn is_broken(&self) -> bool {
        self.missing.as_ref().is_some_and(|missing| missing.is_open)
    }
}

/// What a journal holds.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Kept {
    pub(crate) key: Key,
    pub(crate) started: String,
    pub(crate) before: Option<Reading>,
    /// Steps that need not be done again, and those that broke.
    pub(crate) done: Vec<Done>,
    pub(crate) broken: Vec<Done>,
    /// The length without a torn last line.
    whole_bytes: u64,
}

/// An open journal, locked.
#[derive(Debug)]
pub(crate) struct Journal {
    path: PathBuf,
    file: File,
}

impl Journal {
    /// Begins one in a new folder.
    pub(crate) fn begin(folder: &Path, key: &Key, started: &str) -> Result<Self, Stop> {
        let path = folder.join(FILE);
        let file = match private::append_new(&path) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                return Err(under_way(folder, None));
            }
            other => other.with_context(|| format!("cannot begin {}", path.display()))?,
        };
        hold(&file, folder)?;
        let mut journal = Self { path, file };
        journal.add(&Entry::Begin {
            schema: SCHEMA,
            key: key.clone(),
            started: started.to_owned(),
        })?;
        File::open(folder)
            .and_then(|folder| folder.sync_all())
            .with_context(|| format!("cannot flush the folder {}", folder.display()))?;
        Ok(journal)
    }

    /// Opens that of a run that is resumed, and gives what it holds.
    pub(crate) fn open(folder: &Path) -> Result<(Self, Kept), Stop> {
        let path = folder.join(FILE);
        let is_file = path.symlink_metadata().is_ok_and(|found| found.is_file());
        if !is_file {
            let shown = folder.display();
            return Err(Stop::Usage(format!(
                "{shown} holds no {FILE} of a run; start one with --out"
            )));
        }
        let refused = |why: String| Stop::Usage(format!("{}{why}", path.display()));
        let file = OpenOptions::new()
            .append(true)
            .custom_flags(OFlags::NOFOLLOW.bits().cast_signed())
            .open(&path)
            .map_err(|error| refused(format!(" cannot be opened: {error}")))?;
        // Read only once nobody else writes it.
        hold(&file, folder)?;
        let text = bounded::regular(&path, bounded::RESULT)
            .map_err(|error| refused(format!(" cannot be read: {error}")))?;
        let kept = kept(&text).map_err(refused)?;
        Ok((Self { path, file }, kept))
    }

    /// Cuts a torn last line off, before anything is added.
    pub(crate) fn resume(&self, kept: &Kept) -> Result<(), Stop> {
        let cut = self.file.set_len(kept.whole_bytes);
        Ok(cut.with_context(|| format!("cannot write {}", self.path.display()))?)
    }

    /// Adds a line, which is on the disk when this returns.
    pub(crate) fn add(&mut self, entry: &Entry) -> Result<(), Stop> {
        let mut line = serde_json::to_vec(entry).context("writing a line of the journal")?;
        line.push(b'\n');
        let written = self.file.write_all(&line);
        let written = written.and_then(|()| self.file.sync_data());
        Ok(written.with_context(|| format!("cannot write {}", self.path.display()))?)
    }
}

fn kept(text: &[u8]) -> Result<Kept, String> {
    // A line without an end was torn by a kill, and what it says is not done.
    let whole = text
        .iter()
        .rposition(|byte| *byte == b'\n')
        .map_or(0, |at| at + 1);
    let lines = text[..whole].split(|byte| *byte == b'\n');
    let mut entries = lines.filter(|line| !line.is_empty()).map(|line| {
        serde_json::from_slice::<Entry>(line)
            .map_err(|error| format!(" is damaged ({error}); run again with another --out"))
    });
    let first = entries.next().transpose()?;
    let (key, started) = match first {
        Some(Entry::Begin {
            schema: SCHEMA,
            key,
            started,
        }) => (key, started),
        Some(_) => return Err(" is of another version; run again with another --out".to_owned()),
        None => return Err(" has no first line; run again with another --out".to_owned()),
    };
    let mut kept = Kept {
        key,
        started,
        before: None,
        done: Vec::new(),
        broken: Vec::new(),
        whole_bytes: whole as u64,
    };
    for entry in entries {
        match entry? {
            Entry::Begin { .. } => {
                return Err(" holds two runs; run again with another --out".to_owned());
            }
            Entry::Before { reading } => kept.before = Some(*reading),
            Entry::Step(step) if step.is_broken() => kept.broken.push(step),
            Entry::Step(step) => kept.done.push(step),
        }
    }
    Ok(kept)
}

fn hold(file: &File, folder: &Path) -> Result<(), Stop> {
    match runner::run::hold(file) {
        Held::Here => Ok(()),
        Held::Elsewhere(holder) => Err(under_way(folder, holder.map(|pid| pid.to_string()))),
        Held::Unknown(errno) => {
            let shown = folder.display();
            say!("{shown} cannot be locked ({errno}): start no other accept in it");
            Ok(())
        }
    }
}

fn under_way(folder: &Path, holder: Option<String>) -> Stop {
    let holder = holder.map_or_else(String::new, |pid| format!(" (pid {pid})"));
    Stop::Usage(format!(
        "another accept{holder} is at the run in {}; wait until it has ended",
        folder.display()
    ))
}

/// The same failure, with what to do about a result that is not on the disk.
pub(crate) fn not_durable(stop: Stop, folder: &Path) -> Stop {
    match stop {
        Stop::Internal(error) => Stop::Internal(anyhow!(
            "the result is not on the disk in full: {error:#}; make room, then use --resume {}",
            folder.display()
        )),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::ReasonCode;

    #[test]
    fn a_torn_line_is_not_done_and_a_broken_step_is_done_again() {
        let step = |name: &str, missing: Option<Missing>| {
            Entry::Step(Done {
                group: Group::HostLinks,
                name: name.to_owned(),
                folder: format!("groups/{name}-1"),
                took_s: 1.0,
                missing,
                unwatched: None,
            })
        };
        let broke = Missing {
            is_open: true,
            ..Missing::of(ReasonCode::NotMeasured, "killed")
        };
        let begin = Entry::Begin {
            schema: SCHEMA,
            key: Key::default(),
            started: "2026-11-20T08:00:00Z".to_owned(),
        };
        let lines = [begin, step("a", None), step("b", Some(broke))];
        let line = |entry: &Entry| serde_json::to_string(entry).unwrap() + "\n";
        let whole: String = lines.iter().map(line).collect();
        let kept = super::kept(format!("{whole}{{\"step\":{{\"gr").as_bytes()).unwrap();
        assert_eq!((kept.done.len(), kept.broken.len()), (1, 1));
        assert_eq!(kept.whole_bytes, whole.len() as u64);
        // Cut anywhere, it is read or has no first line.
        let first = whole.find('\n').unwrap();
        for cut in 0..whole.len() {
            let read = super::kept(&whole.as_bytes()[..cut]);
            assert_eq!(read.is_ok(), cut > first, "{cut}");
        }
        assert!(super::kept(format!("{whole}x\n").as_bytes()).is_err());
    }
}
