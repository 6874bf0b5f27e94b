//! Finds out whose format a file has, and hands it to the reader of that format.

use std::path::Path;

use serde_json::Value;

use super::run::ServeRun;
use super::{block, ours, summary, vllm};
use crate::control;
use crate::import::error::ImportError;
use crate::import::fields::{Fields, parse};
use crate::record::{Record, load, read_bounded};

/// The formats, for a file that has none of them.
const LOOKED_FOR: &str = "a record, journal or result folder of `serve-bench run`; the JSON of `vllm bench serve --save-result` \
                          (completed, duration, request_throughput); the block that `vllm bench serve` prints \
                          (Serving Benchmark Result); a flat JSON summary (requests_per_s, latency_mean_s) or evalscope's, \
                          also as it prints it (Benchmarking summary)";

/// Reads a serving result of any format that is known here.
///
/// # Errors
/// The file cannot be read, has no known format, lacks what cannot be done without, or holds a value that cannot be; every
/// message names the file and the key.
pub fn read(path: &Path) -> Result<ServeRun, ImportError> {
    let origin = control::replaced(&path.display().to_string());
    if path.is_dir() {
        return ours::run(&load(path)?, &origin);
    }
    let text = read_bounded(path)?;
    of_text(&text, &origin)
}

fn of_text(text: &str, origin: &str) -> Result<ServeRun, ImportError> {
    let Some(value) = parse(text) else {
        return of_lines(text, origin);
    };
    let map = match &value {
        Value::Object(map) => map,
        Value::Array(results) => return Err(several(results.len(), origin)),
        _ => return Err(unknown(origin)),
    };
    if map.contains_key("header") && map.contains_key("payload") {
        return ours::run(&Record::from_json(text, origin)?, origin);
    }
    if map.contains_key("header") {
        return ours::run(&Record::from_journal(text, origin)?, origin);
    }
    let fields = Fields { origin, map };
    if vllm::is_one(&fields) {
        vllm::run(&fields)
    } else {
        summary::run(&fields)?.ok_or_else(|| unknown(origin))
    }
}

/// What is not one JSON value: a journal, several results, or printed text.
fn of_lines(text: &str, origin: &str) -> Result<ServeRun, ImportError> {
    let first = text.lines().next().and_then(parse);
    if first
        .as_ref()
        .is_some_and(|line| line.get("header").is_some())
    {
        return ours::run(&Record::from_journal(text, origin)?, origin);
    }
    if first.is_some_and(|line| line.is_object()) {
        let results = text.lines().filter(|line| !line.trim().is_empty()).count();
        return Err(several(results, origin));
    }
    if let Some(map) = block::vllm(text, origin)? {
        return vllm::run(&Fields { origin, map: &map });
    }
    match block::evalscope(text, origin)? {
        Some(map) => summary::run(&Fields { origin, map: &map })?.ok_or_else(|| unknown(origin)),
        None => Err(unknown(origin)),
    }
}

fn unknown(origin: &str) -> ImportError {
    ImportError::Unknown {
        origin: origin.to_owned(),
        looked_for: LOOKED_FOR,
    }
}

fn several(results: usize, origin: &str) -> ImportError {
    ImportError::Unusable {
        origin: origin.to_owned(),
        why: format!("holds {results} results; give a file that holds one"),
    }
}
