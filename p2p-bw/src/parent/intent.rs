//! The memory of copies between devices that outlives a crash of the host: what was under way, in which boot.
//!
//! A peer copy can hang a whole machine (seen with R9700). An intent is on the disk before each probe and each measured
//! point; one that has no end and stems from another boot means that the machine went down on that pair.

use std::fs::File;
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use program::{Break, Stop};
use record::private;
use record::write_whole;
use serde::{Deserialize, Serialize};

use super::measurer::Measurer;

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

/// What a run knows of earlier boots. The file is only ever appended to: other runs of this machine may have intents in it that are
/// alive.
#[derive(Debug, Default)]
pub(super) struct Intents {
    /// Where intents are put; `None` where nothing of this run can take a machine down, or the file cannot be used.
    file: Option<PathBuf>,
    boot_id: String,
    /// Those during which an earlier boot ended.
    lost: Vec<Entry>,
    /// Why what earlier boots left cannot be read: nobody knows which pair is one.
    pub(super) unread: Option<String>,
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

/// Opens the first folder that can be used, but none after one with a file of this host that cannot be read; or says why nothing is
/// remembered, naming file or folder.
pub(super) fn open(asked: Option<&Path>, host: &str, boot_id: &str) -> (Intents, Option<String>) {
    let folders = asked.map_or_else(default_folders, |folder| vec![folder.to_owned()]);
    let (mut none, mut unknown) = (Intents::default(), None);
    for folder in folders {
        match Intents::open(&folder, host, boot_id) {
            Ok(intents) => return (intents, None),
            Err(error) => unknown = Some(format!("{error:#}")),
        }
        if file_of(&folder, host).exists() {
            none.unread.clone_from(&unknown);
            break;
        }
    }
    (none, unknown)
}

/// Where every user may make folders, and a boot removes none.
fn shared() -> PathBuf {
    Path::new("/var").join("tmp")
}

fn file_of(folder: &Path, host: &str) -> PathBuf {
    let host = host.replace(|c: char| !c.is_ascii_alphanumeric() && c != '-', "_");
    folder.join(format!("peer-probes-{host}.jsonl"))
}

impl Intents {
    /// Reads what earlier runs on this host left, and makes sure that more can be written.
    fn open(folder: &Path, host: &str, boot_id: &str) -> Result<Self> {
        private::make_folders(folder)
            .with_context(|| format!("cannot make the folder {}", folder.display()))?;
        // Where everybody may make folders, one that another user made could lead anywhere.
        let owner = std::fs::symlink_metadata(folder).map(|folder| folder.uid());
        if folder.starts_with(shared()) && owner.ok() != Some(rustix::process::geteuid().as_raw()) {
            anyhow::bail!("the folder {} belongs to somebody else", folder.display());
        }
        let file = file_of(folder, host);
        let text = match std::fs::read(&file) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Vec::new(),
            text => text.with_context(|| format!("cannot read {}", file.display()))?,
        };
        let open = left_open(&text);
        if text.len() > COMPACT_ABOVE_BYTES {
            write_whole(&file, &lines(&open)?)?;
        } else {
            // A line torn by a crash must not swallow the next one.
            let is_torn = text.last().is_some_and(|last| *last != b'\n');
            append(&file, if is_torn { b"\n" } else { b"" })?;
        }
        File::open(folder)
            .and_then(|folder| folder.sync_all())
            .with_context(|| format!("cannot flush the folder {}", folder.display()))?;
        // Of this boot: the process was ended and the machine was not, or it is another run's and alive.
        let earlier = open.into_iter().filter(|entry| entry.boot_id != boot_id);
        Ok(Self {
            file: Some(file),
            boot_id: boot_id.to_owned(),
            lost: earlier.collect(),
            unread: None,
        })
    }

    /// Why copies of a pair are not tried: an earlier boot ended during them.
    pub(super) fn lost(&self, pair: &str) -> Option<String> {
        let lost = self.lost.iter().find(|lost| lost.pair == pair)?;
        Some(format!(
            "the machine went down, or had to be restarted, during copies of this pair begun at {}; --risk tries it again",
            lost.at
        ))
    }

    /// Does what may take the machine down, with its intents on the disk meanwhile.
    ///
    /// # Errors
    /// Those of `run`, or intents cannot be written.
    pub(super) fn guarded<T>(
        &self,
        pairs: &[String],
        measurer: &mut Measurer<'_>,
        run: impl FnOnce(&mut Measurer<'_>) -> Result<T, Break>,
    ) -> Result<T, Break> {
        self.append(pairs, false).map_err(Stop::Internal)?;
        let end = run(measurer);
        // A process that cannot be ended may yet take the machine down.
        if !measurer.is_unkillable {
            self.append(pairs, true).map_err(Stop::Internal)?;
        }
        end
    }

    /// Puts intents of pairs on the disk, or the end of their copies: of a process that has ended, or that is idle.
    fn append(&self, pairs: &[String], ended: bool) -> Result<()> {
        let Some(file) = self.file.as_ref().filter(|_| !pairs.is_empty()) else {
            return Ok(());
        };
        let at = program::provenance::now();
        let entry = |pair: &String| Entry {
            pair: pair.clone(),
            boot_id: self.boot_id.clone(),
            ended,
            at: at.clone(),
        };
        let entries: Vec<Entry> = pairs.iter().map(entry).collect();
        append(file, &lines(&entries)?)
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

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(name: &str) -> PathBuf {
        let name = format!("tplens-intent-{}-{name}", std::process::id());
        let folder = std::env::temp_dir().join(name);
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

    fn is_lost(intents: &Intents, pair: &str) -> bool {
        intents.lost(pair).is_some()
    }

    #[test]
    fn copies_without_an_end_in_an_earlier_boot_mean_a_lost_host() {
        let folder = folder("lost");
        let intents = opened(&folder, "boot-1");
        begin(&intents, "a>b");
        begin(&intents, "a>c");
        end(&intents, "a>c");
        // A second run of the same boot, while the first is alive.
        assert!(!is_lost(&opened(&folder, "boot-1"), "a>b"));
        let after = opened(&folder, "boot-2");
        assert!(is_lost(&after, "a>b") && !is_lost(&after, "a>c"));
        // Tried again with --risk and ended: forgotten.
        begin(&after, "a>b");
        end(&after, "a>b");
        assert!(!is_lost(&opened(&folder, "boot-3"), "a>b"));
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_torn_line_is_passed_over_and_swallows_nothing() {
        let folder = folder("torn");
        begin(&opened(&folder, "boot-1"), "a>b");
        // Half a line, torn inside the two bytes of a character.
        append(&folder.join("peer-probes-host.jsonl"), b"{\"pair\":\"\xc3").unwrap();
        let second = opened(&folder, "boot-2");
        assert!(is_lost(&second, "a>b"));
        begin(&second, "a>c");
        assert!(is_lost(&opened(&folder, "boot-3"), "a>c"));
        std::fs::remove_dir_all(folder).unwrap();
    }
}
