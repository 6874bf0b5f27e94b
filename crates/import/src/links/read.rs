//! Finds out whose format a file of link measurements has, and hands it to the reader of that format.

use std::collections::BTreeSet;
use std::path::Path;

use super::value::{LinkFile, LinkTrouble};
use super::{nvbandwidth, ours};
use crate::error::ImportError;
use crate::source::Source;
use record::control;
use record::{Record, RecordError};

/// The formats, for a file that has none of them.
const LOOKED_FOR: &str =
    "a record, journal or result folder of `tplens p2p`; the JSON or text of nvbandwidth";

/// Reads link measurements of any format that is known here.
///
/// # Errors
/// The file cannot be read, has no known format, is cut off in a way that leaves nothing to use, or is a record of another
/// program; every message is one line that names the file.
pub fn read(path: &Path) -> Result<LinkFile, ImportError> {
    let origin = control::replaced(&path.display().to_string());
    match Source::of(path, &origin)? {
        Source::Ours(record) => ours::file(&record, &origin),
        Source::Text(text) => of_text(&text, &origin),
    }
}

/// Reads link measurements from the content of a file that is called `origin` in messages.
///
/// # Errors
/// As [`read`], but for the file system's.
pub fn of_text(text: &str, origin: &str) -> Result<LinkFile, ImportError> {
    if let Some(record) = Record::from_text(text, origin)? {
        return ours::file(&record, origin);
    }
    if nvbandwidth::json::is_one(text) {
        return nvbandwidth::json::file(text, origin).map(once);
    }
    if nvbandwidth::text::is_one(text) {
        return nvbandwidth::text::file(text, origin).map(once);
    }
    match Record::from_json(text, origin) {
        Err(error @ (RecordError::Empty { .. } | RecordError::CutOff { .. })) => Err(error.into()),
        _ => Err(ImportError::unknown(origin, LOOKED_FOR)),
    }
}

/// The file with every number and every trouble once: of a test that ran twice, the first one counts.
fn once(mut file: LinkFile) -> LinkFile {
    let mut seen = BTreeSet::new();
    file.values.retain(|value| seen.insert(value.ends.clone()));
    let mut seen = BTreeSet::new();
    file.troubles.retain(|trouble| {
        let LinkTrouble { kind, detail, .. } = trouble;
        seen.insert((*kind, detail.clone(), trouble.test.clone(), trouble.ends))
    });
    file
}
