//! Finds out whose format a file has, and hands it to the reader of that format.

use std::path::Path;

use serde_json::{Map, Value};

use super::result::{FindingKind, ServeResult};
use super::run::ServeRun;
use super::twice::refuse_twice;
use super::{block, checks, ours, summary, vllm};
use crate::control;
use crate::import::error::ImportError;
use crate::import::fields::{Fields, parse, refuse_broken};
use crate::import::source::Source;
use crate::record::Record;

/// The formats, for a file that has none of them.
const LOOKED_FOR: &str = "a record, journal or result folder of `serve-bench run`; the JSON of `vllm bench serve --save-result` \
                          (completed, duration, request_throughput); the block that `vllm bench serve` prints \
                          (Serving Benchmark Result); the JSONL of SGLang's bench_serving; a flat JSON summary (requests_per_s, latency_mean_s) or evalscope's, \
                          also as it prints it (Benchmarking summary)";

/// Reads a serving result of any format that is known here.
///
/// # Errors
/// The file cannot be read, holds several results, has no known format, contradicts itself in its counts or rates, lacks what cannot be done without, or holds a value that
/// cannot be; every message names the file and the key.
pub fn read(path: &Path) -> Result<ServeRun, ImportError> {
    let opened = Opened::of(path)?;
    match &opened.found[..] {
        [one] => {
            let mut result = checks::checked(one.result(&opened.origin)?);
            refuse_contradiction(&result)?;
            let words = |kinds: &[FindingKind]| {
                let of = result.findings.iter();
                let of = of.filter(|one| kinds.contains(&one.kind));
                of.map(|one| one.words.clone()).collect()
            };
            let doubts = words(&[FindingKind::Pace]);
            let not_taken = words(&[FindingKind::MedianAlone, FindingKind::NotTaken]);
            result.run.conditions.doubts = doubts;
            result.run.conditions.not_taken = not_taken;
            Ok(result.run)
        }
        several => Err(ImportError::Unusable {
            origin: opened.origin,
            why: format!(
                "holds {} results; give a file that holds one",
                several.len()
            ),
        }),
    }
}

/// Reads all serving results of a file, which clients append to each other, with what contradicts what in each; at least one.
/// Where there are several, the origin of each is the file's name, `#` and its number from 1.
///
/// # Errors
/// As those of [`read`], except that several results are taken.
pub fn read_all(path: &Path) -> Result<Vec<ServeResult>, ImportError> {
    let Opened { origin, found } = Opened::of(path)?;
    let name = |index: usize| match found.len() {
        1 => origin.clone(),
        _ => format!("{origin}#{}", index + 1),
    };
    found
        .iter()
        .enumerate()
        .map(|(index, one)| Ok(checks::checked(one.result(&name(index))?)))
        .collect()
}

/// The record of ours in a file; `None` where it is of another tool.
///
/// # Errors
/// As those of [`read`].
pub(super) fn record_of(path: &Path) -> Result<Option<Box<Record>>, ImportError> {
    let opened = Opened::of(path)?;
    Ok(opened.found.into_iter().find_map(|found| match found {
        Found::Record(record) => Some(record),
        Found::Json(_) | Found::Text(_) => None,
    }))
}

/// Refuses a result whose own figures contradict each other, so that nobody can say which of them hold.
fn refuse_contradiction(result: &ServeResult) -> Result<(), ImportError> {
    let is_one = |kind| {
        matches!(
            kind,
            FindingKind::Counts
                | FindingKind::Totals
                | FindingKind::Parts
                | FindingKind::Impossible
        )
    };
    match result.findings.iter().find(|one| is_one(one.kind)) {
        None => Ok(()),
        Some(one) => Err(ImportError::Unusable {
            origin: result.run.origin.clone(),
            why: format!("contradicts itself: {}; {}", one.words, next(one.kind)),
        }),
    }
}

/// What to do about a file that contradicts itself.
fn next(kind: FindingKind) -> &'static str {
    match kind {
        FindingKind::Counts => {
            "lists of other requests than it says, as in a file that is cut or was changed: copy it again, or run the load again"
        }
        _ => {
            "these cannot all be true: check them, their units and their names where the file was written, or run the load again"
        }
    }
}

/// What a file holds.
struct Opened {
    origin: String,
    /// The results, not yet understood; at least one.
    found: Vec<Found>,
}

/// One result of a file.
enum Found {
    Record(Box<Record>),
    Json(Map<String, Value>),
    Text(String),
}

impl Opened {
    fn of(path: &Path) -> Result<Self, ImportError> {
        let origin = control::replaced(&path.display().to_string());
        let found = match Source::of(path, &origin)? {
            Source::Ours(record) => vec![Found::Record(record)],
            Source::Text(text) => found(&text, &origin)?,
        };
        Ok(Self { origin, found })
    }
}

fn found(text: &str, origin: &str) -> Result<Vec<Found>, ImportError> {
    if text.trim().is_empty() {
        return Err(ImportError::Unusable {
            origin: origin.to_owned(),
            why: "is empty; run the benchmark again, or give the file that it wrote".to_owned(),
        });
    }
    let Some(value) = parse(text) else {
        return of_lines(text, origin);
    };
    match value {
        Value::Object(map) => {
            refuse_twice(text, origin)?;
            Ok(vec![Found::Json(map)])
        }
        Value::Array(results) if !results.is_empty() => {
            refuse_twice(text, origin)?;
            let results = results.into_iter();
            results.map(|result| object(result, origin)).collect()
        }
        _ => Err(unknown(origin)),
    }
}

/// What is not one JSON value: a journal, several results, or printed text.
fn of_lines(text: &str, origin: &str) -> Result<Vec<Found>, ImportError> {
    let lines = text.lines().enumerate();
    let mut lines = lines.filter(|(_, line)| !line.trim().is_empty());
    let first = lines.next().and_then(|(_, line)| parse(line));
    if first.is_none() {
        refuse_broken(text, origin)?;
    }
    if let Some(first) = first.filter(Value::is_object) {
        for line in text.lines().filter(|line| !line.trim().is_empty()) {
            refuse_twice(line, origin)?;
        }
        let rest = lines.map(|(index, line)| {
            parse(line).ok_or_else(|| ImportError::Unusable {
                origin: origin.to_owned(),
                why: format!(
                    "is one JSON value a line, and line {} is none: the file is cut or mixed; give it as the benchmark wrote it",
                    index + 1
                ),
            })
        });
        return std::iter::once(Ok(first))
            .chain(rest)
            .map(|value| object(value?, origin))
            .collect();
    }
    Ok(block::parts(text).into_iter().map(Found::Text).collect())
}

fn object(value: Value, origin: &str) -> Result<Found, ImportError> {
    match value {
        Value::Object(map) => Ok(Found::Json(map)),
        _ => Err(unknown(origin)),
    }
}

impl Found {
    fn result(&self, origin: &str) -> Result<ServeResult, ImportError> {
        match self {
            Self::Record(record) => ours::result(record, origin),
            Self::Json(map) => of_map(map, origin),
            Self::Text(text) => {
                if let Some(map) = block::vllm(text, origin)? {
                    return of_map(&map, origin);
                }
                match block::evalscope(text, origin)? {
                    Some(map) => of_map(&map, origin),
                    None => Err(unknown(origin)),
                }
            }
        }
    }
}

fn of_map(map: &Map<String, Value>, origin: &str) -> Result<ServeResult, ImportError> {
    let fields = Fields { origin, map };
    if vllm::is_one(&fields) {
        vllm::result(&fields)
    } else {
        summary::result(&fields)?.ok_or_else(|| unknown(origin))
    }
}

fn unknown(origin: &str) -> ImportError {
    ImportError::Unknown {
        origin: origin.to_owned(),
        looked_for: LOOKED_FOR,
    }
}
