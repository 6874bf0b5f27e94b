//! Finds out whose format a file of collective times has, and hands it to the reader of that format.

use std::path::Path;

use super::curve::CurvePoint;
use super::{csv, nccl_json, nccl_text, ours};
use crate::import::error::ImportError;
use crate::import::fields::{Fields, parse};
use crate::record::{Record, load, read_bounded};

/// The formats, for a file that has none of them.
const LOOKED_FOR: &str = "a record, journal or result folder of `allreduce-bench`; CSV with the header `op,ranks,bytes,us` and perhaps \
                          `,mode`; the text or JSON of nccl-tests or rccl-tests";

/// Reads collective times of any format that is known here; points with wrong data or without a time are left out.
///
/// # Errors
/// The file cannot be read, has no known format, lacks what cannot be done without (operation, ranks), holds a value that
/// cannot be, or no point at all; every message names the file and the line or key.
pub fn read(path: &Path) -> Result<Vec<CurvePoint>, ImportError> {
    let origin = path.display().to_string();
    let points = if path.is_dir() {
        ours::points(&load(path)?, &origin)?
    } else {
        of_text(&read_bounded(path)?, &origin)?
    };
    if points.is_empty() {
        return Err(ImportError::Unusable {
            origin,
            why: "holds no time of an all-reduce or all-gather; measure again".to_owned(),
        });
    }
    Ok(points)
}

fn of_text(text: &str, origin: &str) -> Result<Vec<CurvePoint>, ImportError> {
    let first = text.lines().next().and_then(parse);
    if let Some(value) = parse(text).or(first)
        && let Some(map) = value.as_object()
    {
        if map.contains_key("header") && map.contains_key("payload") {
            return ours::points(&Record::from_json(text, origin)?, origin);
        }
        if map.contains_key("header") {
            return ours::points(&Record::from_journal(text, origin)?, origin);
        }
        if map.contains_key("results") && map.contains_key("config") {
            return nccl_json::points(&Fields { origin, map });
        }
    }
    if csv::is_one(text) {
        return csv::points(text, origin);
    }
    if nccl_text::is_one(text) {
        return nccl_text::points(text, origin);
    }
    Err(ImportError::Unknown {
        origin: origin.to_owned(),
        looked_for: LOOKED_FOR,
    })
}
