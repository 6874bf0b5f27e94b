//! The memory of peer probes that outlives a crash of the host: what was under way, in which boot.
//!
//! A peer copy can hang a whole machine (seen with R9700). An intent is on the disk before each probe; one that has no
//! end and stems from another boot means that the machine went down on that pair.

use std::fs::{DirBuilder, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use measure::record::write_whole;
use serde::{Deserialize, Serialize};

/// Larger files are not ours.
const MAX_BYTES: u64 = 16 << 20;

/// One line of the file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Entry {
    /// The pair, by what stays the same across boots.
    pair: String,
    /// Boot in which it happened.
    boot_id: String,
    /// Whether the probe ended, one way or another.
    ended: bool,
    /// UTC time.
    at: String,
}

/// The memory of one machine, backend and driver.
#[derive(Debug)]
pub(super) struct Intents {
    file: PathBuf,
    boot_id: String,
    /// Pairs on which an earlier boot ended, with the time.
    lost: Vec<(String, String)>,
}

/// The folder to use where `--state-dir` does not say.
pub(super) fn default_folder() -> Option<PathBuf> {
    let home = || std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".local/state"));
    let state = std::env::var_os("XDG_STATE_HOME")
        .map(PathBuf::from)
        .filter(|path| path.is_absolute());
    state.or_else(home).map(|folder| folder.join("tplens"))
}

impl Intents {
    /// Reads what earlier runs on this host left, and drops what has ended.
    ///
    /// # Errors
    /// The folder cannot be made or the file not be read.
    pub(super) fn open(folder: &Path, host: &str, boot_id: &str) -> Result<Self> {
        let safe: String = host
            .chars()
            .map(|c| {
                if c.is_ascii_alphanumeric() || c == '-' {
                    c
                } else {
                    '_'
                }
            })
            .collect();
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(folder)
            .with_context(|| format!("cannot make the folder {}", folder.display()))?;
        let file = folder.join(format!("peer-probes-{safe}.jsonl"));
        let entries = read(&file)?;
        let mut open: Vec<Entry> = Vec::new();
        for entry in entries {
            if entry.ended {
                open.retain(|other| other.pair != entry.pair);
            } else {
                open.push(entry);
            }
        }
        // Of this boot: the process was ended and the machine was not; nothing to remember.
        open.retain(|entry| entry.boot_id != boot_id);
        let lost = open
            .iter()
            .map(|entry| (entry.pair.clone(), entry.at.clone()))
            .collect();
        let mut text = Vec::new();
        for entry in &open {
            serde_json::to_writer(&mut text, entry)?;
            text.push(b'\n');
        }
        write_whole(&file, &text)?;
        Ok(Self {
            file,
            boot_id: boot_id.to_owned(),
            lost,
        })
    }

    /// When an earlier boot ended during a probe of this pair.
    pub(super) fn lost(&self, pair: &str) -> Option<&str> {
        self.lost
            .iter()
            .find(|(lost, _)| lost == pair)
            .map(|(_, at)| at.as_str())
    }

    /// Puts the intent to probe a pair on the disk.
    ///
    /// # Errors
    /// It cannot be written.
    pub(super) fn begin(&self, pair: &str) -> Result<()> {
        self.append(pair, false)
    }

    /// Puts the end of a probe on the disk.
    ///
    /// # Errors
    /// It cannot be written.
    pub(super) fn end(&self, pair: &str) -> Result<()> {
        self.append(pair, true)
    }

    fn append(&self, pair: &str, ended: bool) -> Result<()> {
        let at = humantime_now();
        let entry = Entry {
            pair: pair.to_owned(),
            boot_id: self.boot_id.clone(),
            ended,
            at,
        };
        let mut line = serde_json::to_vec(&entry)?;
        line.push(b'\n');
        let failed = || format!("cannot append to {}", self.file.display());
        let mut file = OpenOptions::new()
            .create(true)
            .append(true)
            .mode(0o600)
            .open(&self.file)
            .with_context(failed)?;
        file.write_all(&line).with_context(failed)?;
        file.sync_all().with_context(failed)
    }
}

fn humantime_now() -> String {
    super::provenance::now()
}

/// The whole lines of the file; a torn or foreign line is passed over.
fn read(file: &Path) -> Result<Vec<Entry>> {
    let mut text = String::new();
    match std::fs::File::open(file) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error).with_context(|| format!("cannot read {}", file.display())),
        Ok(open) => open.take(MAX_BYTES).read_to_string(&mut text)?,
    };
    Ok(text
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect())
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

    #[test]
    fn a_probe_without_an_end_in_an_earlier_boot_means_a_lost_host() {
        let folder = folder("lost");
        let intents = Intents::open(&folder, "host", "boot-1").unwrap();
        intents.begin("a>b").unwrap();
        intents.begin("a>c").unwrap();
        intents.end("a>c").unwrap();
        assert_eq!(
            Intents::open(&folder, "host", "boot-2")
                .unwrap()
                .lost("a>c"),
            None
        );
        let after = Intents::open(&folder, "host", "boot-2").unwrap();
        assert!(after.lost("a>b").is_some());
        // Tried again with --risk and ended: forgotten.
        after.begin("a>b").unwrap();
        after.end("a>b").unwrap();
        assert_eq!(
            Intents::open(&folder, "host", "boot-3")
                .unwrap()
                .lost("a>b"),
            None
        );
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_killed_run_of_the_same_boot_is_no_lost_host() {
        let folder = folder("killed");
        Intents::open(&folder, "host", "boot-1")
            .unwrap()
            .begin("a>b")
            .unwrap();
        assert_eq!(
            Intents::open(&folder, "host", "boot-1")
                .unwrap()
                .lost("a>b"),
            None
        );
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_torn_line_is_passed_over() {
        let folder = folder("torn");
        Intents::open(&folder, "host", "boot-1")
            .unwrap()
            .begin("a>b")
            .unwrap();
        let file = folder.join("peer-probes-host.jsonl");
        let whole = std::fs::read_to_string(&file).unwrap();
        std::fs::write(&file, format!("{whole}{{\"pair\":\"x")).unwrap();
        assert!(
            Intents::open(&folder, "host", "boot-2")
                .unwrap()
                .lost("a>b")
                .is_some()
        );
        std::fs::remove_dir_all(folder).unwrap();
    }
}
