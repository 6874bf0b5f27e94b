//! The journal of a run: what a run that was broken off needs to be resumed. One line of JSON for each thing, on the disk before the
//! next begins.
//!
//! What was measured stands in the folders of the steps, and what it came to in the report.

use std::fs::File;
use std::io::Write;
use std::path::Path;

use anyhow::Context;
use program::Stop;
use record::{LinkDevice, Links, private};
use serde::{Deserialize, Serialize};

use super::counters::Reading;
use crate::checks::Group;
use crate::report::Came;

/// Its name in the result folder.
pub(crate) const FILE: &str = "journal.jsonl";

/// A line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Entry {
    /// The first line: what is measured, since when, and the counters before.
    Before {
        key: Key,
        started: String,
        reading: Box<Reading>,
    },
    /// A step has ended.
    Step(Done),
}

/// What must be as it was beside the command line for a run to be resumed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Key {
    program: Option<String>,
    driver: String,
    devices: Vec<String>,
    boot: Option<String>,
}

impl Key {
    /// That of a machine.
    pub(crate) fn of(links: &Links, program: Option<&str>, boot: Option<String>) -> Self {
        let device = |device: &LinkDevice| {
            let identity = (&device.label, &device.name, &device.uuid, device.address);
            format!("{identity:?}")
        };
        Self {
            program: program.map(str::to_owned),
            driver: format!("{:?}", links.backend),
            devices: links.devices.iter().map(device).collect(),
            boot,
        }
    }

    /// The parts that differ.
    pub(crate) fn differences(&self, other: &Self) -> Vec<&'static str> {
        let parts = [
            ("the program", self.program != other.program),
            ("the driver", self.driver != other.driver),
            ("the devices", self.devices != other.devices),
            ("the start of the machine", self.boot != other.boot),
        ];
        let parts = parts.into_iter().filter(|(_, differs)| *differs);
        parts.map(|(part, _)| part).collect()
    }
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
        let path = folder.join(FILE);
        let cannot = || format!("cannot write {}", path.display());
        let file = private::append(&path).with_context(cannot)?;
        let text = bounded::regular(&path, bounded::RESULT).with_context(cannot)?;
        let (entries, whole) = whole(&text).map_err(|error| {
            let shown = path.display();
            Stop::Usage(format!(
                "{shown} is damaged ({error}); run again with another --out"
            ))
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
    Ok((
        lines
            .map(serde_json::from_slice)
            .collect::<Result<_, _>>()?,
        whole,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_torn_line_is_not_done_and_a_damaged_one_is_refused() {
        let step = |name: &str| {
            Entry::Step(Done {
                group: Group::HostLinks,
                name: name.to_owned(),
                folder: format!("groups/{name}-1"),
                took_s: 1.0,
                missing: None,
                is_watched: true,
            })
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
