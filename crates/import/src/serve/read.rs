//! Finds out whose format a file has, and hands it to the reader of that format.

use std::path::Path;

use serde_json::{Map, Value};

use super::block::{self, Printed};
use super::result::{ServeResult, ServeRun};
use super::{checks, flat, ours};
use crate::error::ImportError;
use crate::source::{Source, parse, refuse_broken};
use record::Record;
use record::control;

/// The formats, for a file that has none of them.
const LOOKED_FOR: &str = "a record, journal or result folder of `tplens serve run`; the JSON of `vllm bench serve --save-result` \
                          (completed, duration, request_throughput); the block that `vllm bench serve` prints \
                          (Serving Benchmark Result); the JSONL of SGLang's bench_serving; a flat JSON summary (requests_per_s, \
                          latency_mean_s) or evalscope's, also as it prints it (Benchmarking summary)";

/// Reads a serving result of any format that is known here; what contradicts what in it is in its conditions.
///
/// # Errors
/// The file cannot be read, holds several results, has no known format, or lacks what cannot be done without; every message names
/// the file and the key.
pub fn read(path: &Path) -> Result<ServeRun, ImportError> {
    Ok(read_one(path)?.0.run)
}

/// The same with all that the file says, and the record of ours behind it; `None` where it is of another tool.
///
/// # Errors
/// As those of [`read`].
pub fn read_one(path: &Path) -> Result<(ServeResult, Option<Box<Record>>), ImportError> {
    let (origin, mut found) = opened(path)?;
    let mut results = results(&origin, &found)?;
    match (results.pop(), found.pop()) {
        (Some(one), Some(Found::Record(record))) if results.is_empty() => Ok((one, Some(record))),
        (Some(one), _) if results.is_empty() => Ok((one, None)),
        _ => {
            let count = results.len() + 1;
            let why = format!("holds {count} results; give a file that holds one");
            Err(ImportError::unusable(&origin, why))
        }
    }
}

/// Reads all serving results of a file, which clients append to each other, with what contradicts what in each; at least one.
/// Where there are several, the origin of each is the file's name, `#` and its number from 1.
///
/// # Errors
/// As those of [`read`], except that several results are taken.
pub fn read_all(path: &Path) -> Result<Vec<ServeResult>, ImportError> {
    let (origin, found) = opened(path)?;
    results(&origin, &found)
}

fn results(origin: &str, found: &[Found]) -> Result<Vec<ServeResult>, ImportError> {
    let name = |index: usize| match found.len() {
        1 => origin.to_owned(),
        _ => format!("{origin}#{}", index + 1),
    };
    let results = found.iter().enumerate();
    results
        .map(|(index, one)| Ok(checks::checked(one.result(&name(index))?)))
        .collect()
}

/// One result of a file, not yet understood.
enum Found {
    Record(Box<Record>),
    Json(Map<String, Value>),
    Printed(Printed),
}

/// The file's name in messages, and its results, at least one.
fn opened(path: &Path) -> Result<(String, Vec<Found>), ImportError> {
    let origin = control::replaced(&path.display().to_string());
    let found = match Source::of(path, &origin)? {
        Source::Ours(record) => vec![Found::Record(record)],
        Source::Text(text) => found(&text, &origin)?,
    };
    Ok((origin, found))
}

fn found(text: &str, origin: &str) -> Result<Vec<Found>, ImportError> {
    if text.trim().is_empty() {
        let why = "is empty; run the benchmark again, or give the file that it wrote";
        return Err(ImportError::unusable(origin, why));
    }
    let object = |value| match value {
        Value::Object(map) => Ok(Found::Json(map)),
        _ => Err(unknown(origin)),
    };
    match parse(text) {
        Some(Value::Array(results)) if !results.is_empty() => {
            results.into_iter().map(object).collect()
        }
        Some(value) => Ok(vec![object(value)?]),
        None => of_lines(text, origin),
    }
}

/// What is not one JSON value: several results, or printed text.
fn of_lines(text: &str, origin: &str) -> Result<Vec<Found>, ImportError> {
    let lines = || {
        text.lines()
            .enumerate()
            .filter(|(_, line)| !line.trim().is_empty())
    };
    let first = lines().next().and_then(|(_, line)| parse(line));
    if first.is_some_and(|first| first.is_object()) {
        let object = |(index, line): (usize, &str)| match parse(line) {
            Some(Value::Object(map)) => Ok(Found::Json(map)),
            _ => {
                let why = format!(
                    "is one JSON value a line, and line {} is none: the file is cut or mixed; give it as the benchmark wrote it",
                    index + 1
                );
                Err(ImportError::unusable(origin, why))
            }
        };
        return lines().map(object).collect();
    }
    refuse_broken(text, origin)?;
    let printed: Vec<Found> = block::all(text).into_iter().map(Found::Printed).collect();
    if printed.is_empty() {
        Err(unknown(origin))
    } else {
        Ok(printed)
    }
}

impl Found {
    fn result(&self, origin: &str) -> Result<ServeResult, ImportError> {
        let (map, findings) = match self {
            Self::Record(record) => return ours::result(record, origin),
            Self::Json(map) => (map, Vec::new()),
            Self::Printed(printed) => (&printed.map, printed.findings.clone()),
        };
        let mut result = flat::result(map, origin)?.ok_or_else(|| unknown(origin))?;
        result.findings.splice(0..0, findings);
        Ok(result)
    }
}

fn unknown(origin: &str) -> ImportError {
    ImportError::unknown(origin, LOOKED_FOR)
}
