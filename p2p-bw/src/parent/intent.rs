//! The memory of copies between devices that outlives a crash of the host: what was under way, in which boot.
//!
//! A peer copy can hang a whole machine (seen with R9700). An intent is on the disk before each probe and each measured
//! point; one that has no end and stems from another boot means that the machine went down on that pair.

use std::fs::File;
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use record::private;
use record::{Failure, FailureKind, LinkDevice, write_whole};
use serde::{Deserialize, Serialize};

/// A longer file is rewritten with what is still open in it; what another run appends at that moment is lost, so this
/// is rare (some hundred lines a run, some 250 bytes a line).
const COMPACT_ABOVE_BYTES: usize = 1 << 20;

/// One line of the file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Entry {
    /// The pair, by what stays the same across boots.
    pair: String,
    /// Boot in which it happened.
    boot_id: String,
    /// Whether the copies ended, one way or another.
    ended: bool,
    /// UTC time.
    at: String,
}

/// What a run knows of earlier boots.
#[derive(Debug)]
pub(super) enum Remembered {
    /// Nothing: nothing of this run can take a machine down.
    NotNeeded,
    /// What the state folder holds.
    Known(Intents),
    /// Nothing, for this reason, which names the file or folder.
    Unknown(String),
}

impl Remembered {
    /// That an earlier boot ended during copies of this pair.
    pub(super) fn lost(&self, pair: &str) -> Option<Failure> {
        let Self::Known(intents) = self else {
            return None;
        };
        let at = intents.lost(pair)?;
        Some(FailureKind::Hang.of(format!(
            "the machine went down, or had to be restarted, during copies of this pair begun at {at}; --risk tries it again"
        )))
    }

    /// Why nothing is known that should be; without it nothing is tried that may take the machine down.
    pub(super) fn unknown(&self) -> Option<Failure> {
        match self {
            Self::Unknown(reason) => Some(FailureKind::Permission.of(format!(
                "whether this machine went down on such copies before is not known: {reason}; give a folder that can \
                 be read and written with --state-dir, or try them with --risk"
            ))),
            Self::NotNeeded | Self::Known(_) => None,
        }
    }

    /// Puts intents on the disk, where there is one for them.
    ///
    /// # Errors
    /// They cannot be written.
    pub(super) fn begin(&self, pairs: &[String]) -> Result<()> {
        self.append(pairs, false)
    }

    /// Puts the end of these pairs' copies on the disk: of a process that has ended, or that is idle.
    ///
    /// # Errors
    /// They cannot be written.
    pub(super) fn end(&self, pairs: &[String]) -> Result<()> {
        self.append(pairs, true)
    }

    fn append(&self, pairs: &[String], ended: bool) -> Result<()> {
        match self {
            Self::Known(intents) if !pairs.is_empty() => intents.append(pairs, ended),
            _ => Ok(()),
        }
    }
}

/// A pair by what stays the same across boots; `identity` is backend, box and driver.
pub(super) fn pair(identity: &str, from: &LinkDevice, to: &LinkDevice) -> String {
    let name = |device: &LinkDevice| {
        let address = device.address.map(|address| address.to_string());
        device
            .uuid
            .clone()
            .or(address)
            .unwrap_or_else(|| device.label.clone())
    };
    format!("{identity} {}>{}", name(from), name(to))
}

/// The memory of one machine, backend and driver. The file is only ever appended to: other runs of this machine may
/// have intents in it that are alive.
#[derive(Debug)]
pub(super) struct Intents {
    file: PathBuf,
    boot_id: String,
    /// Pairs on which an earlier boot ended, with the time.
    lost: Vec<(String, String)>,
}

/// The folders to use where `--state-dir` does not say, best first: the user's, and one that outlives a boot, too, for a user
/// whose home cannot be written.
fn default_folders() -> Vec<PathBuf> {
    let home = || std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".local/state"));
    let state = std::env::var_os("XDG_STATE_HOME")
        .map(PathBuf::from)
        .filter(|path| path.is_absolute());
    let user = rustix::process::geteuid().as_raw();
    let own = state.or_else(home).map(|folder| folder.join("tplens"));
    let shared = shared().join(format!("tplens-{user}"));
    own.into_iter().chain([shared]).collect()
}

/// Opens the first folder that can be used. One with a file of this host that cannot be read is the end: the file may say what took
/// the host down.
///
/// # Errors
/// What is wrong with the folder that counts.
pub(super) fn open(asked: Option<&Path>, host: &str, boot_id: &str) -> Result<Intents> {
    let asked = asked.map(|folder| vec![folder.to_owned()]);
    let folders = asked.unwrap_or_else(default_folders);
    let (last, others) = folders.split_last().context("no folder")?;
    for folder in others {
        let opened = Intents::open(folder, host, boot_id);
        if opened.is_ok() || file_of(folder, host).exists() {
            return opened;
        }
    }
    Intents::open(last, host, boot_id)
}

/// Where every user may make folders, and a boot removes none.
fn shared() -> PathBuf {
    Path::new("/var").join("tmp")
}

fn file_of(folder: &Path, host: &str) -> PathBuf {
    let safe = |c: char| {
        if c.is_ascii_alphanumeric() || c == '-' {
            c
        } else {
            '_'
        }
    };
    let host: String = host.chars().map(safe).collect();
    folder.join(format!("peer-probes-{host}.jsonl"))
}

impl Intents {
    /// Reads what earlier runs on this host left, and makes sure that more can be written.
    ///
    /// # Errors
    /// The folder cannot be made, or the file not be read or written.
    pub(super) fn open(folder: &Path, host: &str, boot_id: &str) -> Result<Self> {
        private::make_folders(folder)
            .with_context(|| format!("cannot make the folder {}", folder.display()))?;
        // Where everybody may make folders, one that another user made could lead anywhere.
        let owner = std::fs::symlink_metadata(folder).map(|folder| folder.uid());
        if folder.starts_with(shared()) && owner.ok() != Some(rustix::process::geteuid().as_raw()) {
            anyhow::bail!("the folder {} belongs to somebody else", folder.display());
        }
        let file = file_of(folder, host);
        let text = read(&file).with_context(|| format!("cannot read {}", file.display()))?;
        let open = left_open(&text);
        if text.len() > COMPACT_ABOVE_BYTES {
            write_whole(&file, &lines(&open)?)?;
        } else {
            // A line torn by a crash must not swallow the next one.
            let torn = text.last().is_some_and(|last| *last != b'\n');
            append(&file, if torn { b"\n" } else { b"" })?;
            File::open(folder)
                .and_then(|folder| folder.sync_all())
                .with_context(|| format!("cannot flush the folder {}", folder.display()))?;
        }
        // Of this boot: the process was ended and the machine was not, or it is another run's and alive.
        let earlier = open.into_iter().filter(|entry| entry.boot_id != boot_id);
        Ok(Self {
            file,
            boot_id: boot_id.to_owned(),
            lost: earlier.map(|entry| (entry.pair, entry.at)).collect(),
        })
    }

    /// When an earlier boot ended during copies of this pair.
    fn lost(&self, pair: &str) -> Option<&str> {
        self.lost
            .iter()
            .find(|(lost, _)| lost == pair)
            .map(|(_, at)| at.as_str())
    }

    fn append(&self, pairs: &[String], ended: bool) -> Result<()> {
        let at = program::provenance::now();
        let entry = |pair: &String| Entry {
            pair: pair.clone(),
            boot_id: self.boot_id.clone(),
            ended,
            at: at.clone(),
        };
        let entries: Vec<Entry> = pairs.iter().map(entry).collect();
        append(&self.file, &lines(&entries)?)
    }
}

fn append(file: &Path, bytes: &[u8]) -> Result<()> {
    private::append(file)
        .and_then(|mut open| open.write_all(bytes).and_then(|()| open.sync_all()))
        .with_context(|| format!("cannot append to {}", file.display()))
}

fn lines(entries: &[Entry]) -> Result<Vec<u8>> {
    let mut text = Vec::new();
    for entry in entries {
        serde_json::to_writer(&mut text, entry)?;
        text.push(b'\n');
    }
    Ok(text)
}

/// The intents without an end. An end closes those of its pair from every boot: the pair was tried and nothing went down.
fn left_open(text: &[u8]) -> Vec<Entry> {
    let mut open: Vec<Entry> = Vec::new();
    // A torn or foreign line is passed over: an intent was on the disk in full before its copies began.
    let entries = text
        .split(|byte| *byte == b'\n')
        .filter_map(|line| serde_json::from_slice::<Entry>(line).ok());
    for entry in entries {
        if entry.ended {
            open.retain(|other| other.pair != entry.pair);
        } else {
            open.push(entry);
        }
    }
    open
}

fn read(file: &Path) -> Result<Vec<u8>> {
    match std::fs::read(file) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
        text => Ok(text?),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(name: &str) -> PathBuf {
        let folder =
            std::env::temp_dir().join(format!("tplens-intent-{}-{name}", std::process::id()));
        drop(std::fs::remove_dir_all(&folder));
        folder
    }

    fn opened(folder: &Path, boot_id: &str) -> Intents {
        Intents::open(folder, "host", boot_id).unwrap()
    }

    fn begin(intents: &Intents, pair: &str) {
        intents.append(&[pair.to_owned()], false).unwrap();
    }

    fn end(intents: &Intents, pair: &str) {
        intents.append(&[pair.to_owned()], true).unwrap();
    }

    #[test]
    fn copies_without_an_end_in_an_earlier_boot_mean_a_lost_host() {
        let folder = folder("lost");
        let intents = opened(&folder, "boot-1");
        begin(&intents, "a>b");
        begin(&intents, "a>c");
        end(&intents, "a>c");
        assert_eq!(opened(&folder, "boot-2").lost("a>c"), None);
        let after = opened(&folder, "boot-2");
        assert!(after.lost("a>b").is_some());
        // Tried again with --risk and ended: forgotten.
        begin(&after, "a>b");
        end(&after, "a>b");
        assert_eq!(opened(&folder, "boot-3").lost("a>b"), None);
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn an_intent_of_this_boot_is_no_lost_host_and_outlives_other_runs() {
        let folder = folder("alive");
        begin(&opened(&folder, "boot-1"), "a>b");
        // A second run of the same boot begins, and does other things, while the first is alive.
        let second = opened(&folder, "boot-1");
        assert_eq!(second.lost("a>b"), None);
        begin(&second, "a>c");
        end(&second, "a>c");
        let after = opened(&folder, "boot-2");
        assert!(after.lost("a>b").is_some());
        assert_eq!(after.lost("a>c"), None);
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_torn_line_is_passed_over_and_swallows_nothing() {
        let folder = folder("torn");
        begin(&opened(&folder, "boot-1"), "a>b");
        // Half a line, torn inside the two bytes of a character.
        append(&folder.join("peer-probes-host.jsonl"), b"{\"pair\":\"\xc3").unwrap();
        let second = opened(&folder, "boot-2");
        assert!(second.lost("a>b").is_some());
        begin(&second, "a>c");
        assert!(opened(&folder, "boot-3").lost("a>c").is_some());
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_file_that_cannot_be_read_or_a_folder_that_cannot_be_made_is_an_error_that_names_it() {
        let folder = folder("unreadable");
        let file = folder.join("peer-probes-host.jsonl");
        std::fs::create_dir_all(&file).unwrap();
        let error = Intents::open(&folder, "host", "boot-1").unwrap_err();
        assert!(format!("{error:#}").contains("peer-probes-host.jsonl"));
        std::fs::remove_dir(&file).unwrap();
        std::fs::write(&file, "x").unwrap();
        let error = Intents::open(&file.join("below"), "host", "boot-1").unwrap_err();
        assert!(format!("{error:#}").contains("below"), "{error:#}");
        std::fs::remove_dir_all(folder).unwrap();
    }
}
