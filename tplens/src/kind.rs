//! Which command knows a file: `show` and `compare` ask the file, so that nobody has to.

use std::cmp::Reverse;
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use import::ImportError;
use record::Payload;

/// Bytes of a file that are looked at where it is no record.
const HEAD: u64 = 1 << 20;

/// What a file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Links,
    Collectives,
    Report,
    /// Transfers between hosts that another tool timed.
    Transfers,
    /// The output of a server.
    EngineLog,
    /// What a tool says of a machine's topology.
    Topology,
    /// A load.
    Load,
    /// None of these.
    Unknown,
}

impl Kind {
    /// Looks at a file or result folder.
    pub(crate) fn of(path: &Path) -> Self {
        if path.join("report.json").is_file() || is_report(path) {
            return Self::Report;
        }
        if let Ok(record) = record::load(path) {
            return match record.payload {
                Payload::Links(_) | Payload::Numa(_) => Self::Links,
                Payload::Collectives(_) => Self::Collectives,
                Payload::Serve(_) => Self::Load,
            };
        }
        if import::links::read(path).is_ok() {
            Self::Links
        } else if import::transfers::read(path).is_ok() {
            Self::Transfers
        } else if is_of_collectives(path) {
            Self::Collectives
        } else if import::serve::read_all(path).is_err() {
            Self::of_text(path)
        } else {
            Self::Load
        }
    }

    /// What a text is that holds no numbers of a run.
    fn of_text(path: &Path) -> Self {
        let log = File::open(path).map(tp_plan::EngineLog::read_from);
        if matches!(log, Ok(Ok(log)) if log.engine.is_some()) {
            return Self::EngineLog;
        }
        match bounded::read(path, bounded::SETTINGS) {
            Ok(text) if topology::captured::read(&String::from_utf8_lossy(&text)).is_ok() => {
                Self::Topology
            }
            _ => Self::Unknown,
        }
    }

    /// The words that print one.
    pub(crate) fn show(self) -> [&'static str; 2] {
        match self {
            Self::Links => ["p2p", "show"],
            Self::Collectives => ["allreduce", "show"],
            Self::Report => ["accept", "report"],
            Self::Transfers => ["kv", "--from"],
            Self::EngineLog => ["serve", "engine-log"],
            Self::Topology => ["topo", "--from"],
            Self::Load | Self::Unknown => ["serve", "show"],
        }
    }

    /// The words that compare two.
    pub(crate) fn compare(self) -> [&'static str; 2] {
        match self {
            Self::Links => ["p2p", "compare"],
            Self::Collectives => ["allreduce", "compare"],
            Self::Report => ["accept", "compare"],
            _ => ["serve", "compare"],
        }
    }

    /// What it is of.
    pub(crate) fn words(self) -> &'static str {
        match self {
            Self::Links => "links",
            Self::Collectives => "collectives",
            Self::Report => "an acceptance",
            Self::Transfers => "transfers",
            Self::EngineLog => "a server's log",
            Self::Topology => "a topology",
            Self::Load => "serving",
            Self::Unknown => "an unknown kind",
        }
    }
}

/// Files by which the folder of a result is known.
const RESULTS: [&str; 5] = [
    "record.json",
    "journal.jsonl",
    "report.json",
    "study.json",
    "settings.json",
];

/// The results in a folder, the newest first.
pub(crate) fn parts(folder: &Path) -> Vec<PathBuf> {
    let entries = folder.read_dir().into_iter().flatten().flatten();
    let mut parts: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    // What was set aside when a run went on is none.
    let is_whole = |part: &Path| !part.to_string_lossy().contains(".broken-");
    parts.retain(|part| RESULTS.iter().any(|file| part.join(file).is_file()) && is_whole(part));
    let changed = |part: &PathBuf| part.metadata().and_then(|of| of.modified()).ok();
    parts.sort_by_key(|part| (Reverse(changed(part)), part.clone()));
    parts
}

/// Whether a folder holds results of several kinds, of which there is no one table, as of several loads.
pub(crate) fn is_of_several(folder: &Path) -> bool {
    let is_load = |part: &PathBuf| {
        record::load(part).is_ok_and(|record| matches!(record.payload, Payload::Serve(_)))
    };
    let is_one = RESULTS[..3].iter().any(|file| folder.join(file).is_file());
    let is_study = folder.join("study.json").is_file();
    !is_one && (is_study || !parts(folder).iter().all(is_load))
}

/// Whether a file of no known kind has no known form either, and not one that lacks something.
pub(crate) fn is_foreign(path: &Path) -> bool {
    matches!(
        import::serve::read_all(path),
        Err(ImportError::Unknown { .. })
    )
}

/// Whether a file is one of collective times, be it one that lacks what must be in it.
fn is_of_collectives(path: &Path) -> bool {
    match import::collectives::read_file(path) {
        Ok(_) | Err(ImportError::Missing { .. }) => true,
        Err(_) => false,
    }
}

/// Whether a file begins as a report or baseline of `accept` does.
fn is_report(path: &Path) -> bool {
    let Ok(file) = File::open(path) else {
        return false;
    };
    let mut head = Vec::new();
    let read = file.take(HEAD).read_to_end(&mut head);
    head.retain(|byte| !byte.is_ascii_whitespace());
    let marks = [
        &b"\"program\":\"accept\""[..],
        b"\"program\":\"acceptfleet\"",
    ];
    let begins = |mark: &&[u8]| head.windows(mark.len()).any(|window| window == *mark);
    read.is_ok() && marks.iter().any(begins)
}
