//! Finds out whose format a file of collective times has, and hands it to the reader of that format.

use std::path::Path;

use serde_json::Value;

use super::curve::CurvePoint;
use super::trouble::Trouble;
use super::value::CallFile;
use super::{csv, nccl_json, nccl_text, our_csv, ours, trouble};
use crate::control;
use crate::import::error::ImportError;
use crate::import::fields::{Fields, parse, refuse_broken};
use crate::import::links::TroubleKind;
use crate::import::source::Source;

/// The formats, for a file that has none of them.
const LOOKED_FOR: &str = "a record, journal or result folder of `allreduce-bench`; CSV with the header `op,ranks,bytes,us` and perhaps \
                          `,mode`, or as `allreduce-bench --csv` writes it; the text or JSON of nccl-tests or rccl-tests";

/// Reads collective times of any format that is known here; points with wrong data or without a time are left out, which
/// [`troubles`] tells.
///
/// # Errors
/// The file cannot be read, has no known format, lacks what cannot be done without (operation, ranks), holds a value that
/// cannot be, or no point at all; every message names the file and the line or key.
pub fn read(path: &Path) -> Result<Vec<CurvePoint>, ImportError> {
    let origin = origin(path);
    let (file, troubles) = match Source::of(path, &origin)? {
        Source::Ours(record) => (
            ours::file(&record, &origin)?,
            trouble::of(&record, &origin)?,
        ),
        Source::Text(text) => (of_text(&text, &origin)?, Vec::new()),
    };
    let points = file.curve();
    if points.is_empty() {
        let more = match troubles.as_slice() {
            [] => String::new(),
            [one] => format!(" ({})", one.words),
            [first, others @ ..] => format!(" ({}; and {} more)", first.words, others.len()),
        };
        return Err(ImportError::Unusable {
            origin,
            why: format!("holds no time of a collective{more}; measure again"),
        });
    }
    Ok(points)
}

/// Reads all that a file of collective times says, of any format that is known here: every placement, arm and type, and what has
/// no time.
///
/// # Errors
/// As [`read`]; a file without a single time is none.
pub fn read_file(path: &Path) -> Result<CallFile, ImportError> {
    let origin = origin(path);
    match Source::of(path, &origin)? {
        Source::Ours(record) => ours::file(&record, &origin),
        Source::Text(text) => of_text(&text, &origin),
    }
}

/// What went wrong while the collectives of a record of ours were measured: one entry for each point with wrong data, each
/// hang, each failure, and one where the run was broken off. Of files of other tools only that they are cut.
///
/// # Errors
/// The file cannot be read, or is a record of another program.
pub fn troubles(path: &Path) -> Result<Vec<Trouble>, ImportError> {
    let origin = origin(path);
    match Source::of(path, &origin)? {
        Source::Ours(record) => trouble::of(&record, &origin),
        Source::Text(text) => {
            let told = of_text(&text, &origin)?.troubles.into_iter();
            let of_file = told.filter(|one| one.kind == TroubleKind::File);
            let troubles = of_file.map(|one| Trouble {
                wrong_data: false,
                words: format!("{origin} {}", one.words),
            });
            Ok(troubles.collect())
        }
    }
}

/// The file's name in messages.
fn origin(path: &Path) -> String {
    control::replaced(&path.display().to_string())
}

/// The JSON of a text, or of its first line, as in a journal.
fn first_value(text: &str) -> Option<Value> {
    parse(text).or_else(|| text.lines().next().and_then(parse))
}

fn of_text(text: &str, origin: &str) -> Result<CallFile, ImportError> {
    if let Some(value) = first_value(text)
        && let Some(map) = value.as_object()
        && map.contains_key("results")
        && map.contains_key("config")
    {
        return nccl_json::file(&Fields { origin, map });
    }
    if csv::is_one(text) {
        return csv::file(text, origin);
    }
    if our_csv::is_one(text) {
        return our_csv::file(text, origin);
    }
    if nccl_text::is_one(text) {
        return nccl_text::file(text, origin);
    }
    refuse_broken(text, origin)?;
    Err(ImportError::Unknown {
        origin: origin.to_owned(),
        looked_for: LOOKED_FOR,
    })
}
