//! Which command knows a file: `show` and `compare` ask the file, so that nobody has to.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

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
    /// A load, or what is none of the others.
    Load,
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
            _ => Self::Load,
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
            Self::Load => ["serve", "show"],
        }
    }

    /// The words that compare two.
    pub(crate) fn compare(self) -> [&'static str; 2] {
        match self {
            Self::Links => ["p2p", "compare"],
            Self::Collectives => ["allreduce", "compare"],
            Self::Report => ["accept", "compare"],
            Self::Transfers | Self::EngineLog | Self::Topology | Self::Load => ["serve", "compare"],
        }
    }
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
