//! Finds out whose format a file of collective times has, and hands it to the reader of that format.

use std::path::Path;

use serde_json::Value;

use super::value::{CallFile, CurvePoint};
use super::{csv, nccl_json, nccl_text, ours};
use crate::error::ImportError;
use crate::source::{Source, parse, refuse_broken};
use record::CollectiveKind;
use record::control;

/// The formats, for a file that has none of them.
const LOOKED_FOR: &str = "a record, journal or result folder of `tplens allreduce`; CSV with the header `op,ranks,bytes,us` and perhaps \
                          `,mode`; the text or JSON of nccl-tests or rccl-tests";

/// Reads collective times of any format that is known here: see [`CallFile::points`].
///
/// # Errors
/// As [`read_file`], and where the file holds no time.
pub fn read(path: &Path) -> Result<Vec<CurvePoint>, ImportError> {
    read_file(path)?.points()
}

/// Reads all that a file of collective times says, of any format that is known here: every placement and type, and what has
/// no time.
///
/// # Errors
/// The file cannot be read, has no known format, or nobody knows its operation or number of ranks.
pub fn read_file(path: &Path) -> Result<CallFile, ImportError> {
    read_file_as(path, None)
}

/// As [`read_file`], of a file that may not say its operation: then it is `asked`.
///
/// # Errors
/// As [`read_file`].
pub fn read_file_as(path: &Path, asked: Option<CollectiveKind>) -> Result<CallFile, ImportError> {
    let origin = control::replaced(&path.display().to_string());
    match Source::of(path, &origin)? {
        Source::Ours(record) => ours::file(&record, &origin),
        Source::Text(text) => of_text(&text, &origin, asked),
    }
}

fn of_text(
    text: &str,
    origin: &str,
    asked: Option<CollectiveKind>,
) -> Result<CallFile, ImportError> {
    // A journal is JSON in its first line.
    let value = parse(text).or_else(|| text.lines().next().and_then(parse));
    let has = |of: &Value, key: &str| of.get(key).is_some();
    if let Some(of) = value.filter(|of| has(of, "results") && has(of, "config")) {
        return nccl_json::file(&of, origin, asked);
    }
    if csv::is_one(text) {
        return csv::file(text, origin);
    }
    if nccl_text::is_one(text) {
        return nccl_text::file(text, origin, asked);
    }
    refuse_broken(text, origin)?;
    Err(ImportError::unknown(origin, LOOKED_FOR))
}
