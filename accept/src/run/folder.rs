//! The result folder of a run: mode 0700, held by one run at a time, with the settings that it was begun with; and the journal in it.
//!
//! The journal is what a run that was broken off needs to be resumed: one line of JSON for each thing, on the disk before the next begins.
//! What was measured stands in the folders of the steps, and what it came to in the report.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::Context;
use program::{Stop, say, say_progress};
use record::{LinkDevice, Links, private};
use runner::Interrupt;
use runner::run::Run;
use serde::{Deserialize, Serialize};

use super::counters::Reading;
use crate::checks::Group;
use crate::report::Came;

/// The journal's name in the result folder.
pub(crate) const JOURNAL: &str = "journal.jsonl";

/// A folder that holds a run.
#[derive(Debug)]
pub(crate) struct Folder {
    /// Where it is.
    pub(crate) path: PathBuf,
    /// Whether it was not there before.
    pub(crate) is_new: bool,
}

impl Folder {
    /// Opens a new folder, or that of a run that is resumed; it is held until what is given beside it is dropped.
    ///
    /// # Errors
    /// It is a link, holds something else or no run, other settings were given, or another run is at work in it.
    pub(crate) fn open<'a>(
        path: &Path,
        is_resumed: bool,
        settings: &impl Serialize,
        interrupt: &'a Interrupt,
    ) -> Result<(Self, Run<'a>), Stop> {
        let shown = path.display();
        let refused = |why: String| Err(Stop::Usage(format!("{shown} {why}")));
        match (is_resumed, path.join(JOURNAL).is_file()) {
            _ if path.is_symlink() => {
                return refused("is a symbolic link; name the folder itself".to_owned());
            }
            (true, false) => return refused(format!("holds no {JOURNAL} of a run; use --out")),
            (false, true) => {
                return refused(format!("holds a run; resume it with --resume {shown}"));
            }
            _ => {}
        }
        let is_new = !path.exists();
        let what = ("an acceptance run", "settings.json");
        let run = Run::open(path, what, settings, interrupt, |progress| {
            say_progress(progress, &|line| say!("{line}"));
        })?;
        let path = path.to_owned();
        Ok((Self { path, is_new }, run))
    }

    /// A place in it.
    pub(crate) fn join(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// The first of these places, numbered from 1, that is free.
    pub(crate) fn free(&self, place: impl Fn(usize) -> String) -> String {
        let is_free = |place: &String| self.join(place).symlink_metadata().is_err();
        let mut places = (1..usize::MAX).map(&place);
        places.find(is_free).unwrap_or_else(|| place(0))
    }

    /// Makes a folder in it.
    ///
    /// # Errors
    /// The system refuses.
    pub(crate) fn make(&self, name: &str) -> Result<PathBuf, Stop> {
        let path = self.join(name);
        let made = private::make_folders(&path);
        made.with_context(|| format!("cannot make the folder {}", path.display()))?;
        Ok(path)
    }

    /// Fails where the disk has no room for what a step may write: a file of 2 MiB is written, flushed and removed.
    ///
    /// # Errors
    /// The disk refuses.
    pub(crate) fn has_room(&self) -> Result<(), Stop> {
        let probe = self.join("probe");
        let written = record::write_whole(&probe, &vec![b'x'; 2 << 20]);
        drop(std::fs::remove_file(&probe));
        Ok(written.context("make room, then use --resume")?)
    }

    /// Takes back what was made for a run that never began.
    pub(crate) fn forget(self) {
        if self.is_new {
            drop(std::fs::remove_dir_all(&self.path));
        }
    }
}

/// A line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Entry {
    /// The first line.
    Before(Box<Before>),
    /// A step has ended.
    Step(Box<Done>),
}

/// What is measured, since when, and the counters before.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Before {
    pub(crate) key: Key,
    pub(crate) started: String,
    pub(crate) reading: Reading,
}

/// What must be as it was beside the command line for a run to be resumed: what it is, and its value.
pub(crate) type Key = BTreeMap<String, String>;

/// The key of a machine.
pub(crate) fn key(links: &Links, program: Option<&str>, boot: Option<String>) -> Key {
    let device = |device: &LinkDevice| {
        let identity = (&device.label, &device.name, &device.uuid, device.address);
        format!("{identity:?}")
    };
    let devices: Vec<String> = links.devices.iter().map(device).collect();
    let parts = [
        ("the program", format!("{program:?}")),
        ("the driver", format!("{:?}", links.backend)),
        ("the devices", devices.join(", ")),
        ("the start of the machine", format!("{boot:?}")),
    ];
    parts.map(|(part, value)| (part.to_owned(), value)).into()
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
    pub(crate) missing: Option<Came>,
    /// Whether the monitor saw it to its end.
    pub(crate) is_watched: bool,
}

/// An open journal.
#[derive(Debug)]
pub(crate) struct Journal(File);

impl Journal {
    /// Opens that of a folder and gives what it holds; a last line that a kill tore is cut off.
    pub(crate) fn open(folder: &Path) -> Result<(Self, Vec<Entry>), Stop> {
        let path = folder.join(JOURNAL);
        let cannot = || format!("cannot write {}", path.display());
        let file = private::append(&path).with_context(cannot)?;
        let text = bounded::regular(&path, bounded::RESULT).with_context(cannot)?;
        let (entries, whole) = whole(&text).map_err(|error| {
            let why = format!("is damaged ({error}); run again with another --out");
            Stop::Usage(format!("{} {why}", path.display()))
        })?;
        file.set_len(whole as u64).with_context(cannot)?;
        Ok((Self(file), entries))
    }

    /// Adds a line, which is on the disk when this returns.
    pub(crate) fn add(&mut self, entry: &Entry) -> Result<(), Stop> {
        let mut line = serde_json::to_vec(entry).context("writing a line of the journal")?;
        line.push(b'\n');
        let written = self.0.write_all(&line).and_then(|()| self.0.sync_data());
        Ok(written.context("cannot write the journal; make room, then use --resume")?)
    }
}

/// The whole lines of a journal, and their length.
fn whole(text: &[u8]) -> serde_json::Result<(Vec<Entry>, usize)> {
    let end = text.iter().rposition(|byte| *byte == b'\n');
    let whole = end.map_or(0, |at| at + 1);
    let lines = text[..whole].split(|byte| *byte == b'\n');
    let lines = lines.filter(|line| !line.is_empty());
    let entries: serde_json::Result<Vec<Entry>> = lines.map(serde_json::from_slice).collect();
    Ok((entries?, whole))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_torn_line_is_not_done_and_a_damaged_one_is_refused() {
        let step = |name: &str| {
            Entry::Step(Box::new(Done {
                group: Group::HostLinks,
                name: name.to_owned(),
                folder: format!("groups/{name}-1"),
                took_s: 1.0,
                missing: None,
                is_watched: true,
            }))
        };
        let line = |entry: &Entry| serde_json::to_string(entry).unwrap() + "\n";
        let text: String = [step("a"), step("b")].iter().map(line).collect();
        let (entries, length) = whole(format!("{text}{{\"step\":{{\"gr").as_bytes()).unwrap();
        assert_eq!((entries.len(), length), (2, text.len()));
        // Cut anywhere, what is whole is read.
        for cut in 0..text.len() {
            let lines = text[..cut].matches('\n').count();
            assert_eq!(whole(&text.as_bytes()[..cut]).unwrap().0.len(), lines);
        }
        assert!(whole(format!("{text}x\n").as_bytes()).is_err());
    }
}
