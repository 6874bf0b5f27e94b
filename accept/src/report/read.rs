//! Reading `report.json` back: of this program, of an older or newer one, or of anybody who wants to be believed.
//!
//! A file is bounded in size and depth before it is parsed, and a report that contradicts itself is refused: a pass that nothing stands
//! behind, a verdict that its checks do not come to. What is read is not cleaned: [`crate::outputs`] does that before it shows anything.

use std::collections::HashSet;
use std::io;
use std::path::{Path, PathBuf};

use measure::stats::median;
use serde::Deserialize;
use thiserror::Error;

use super::{BoxVerdict, Check, Evidence, Limit, REPORT_SCHEMA, Report, RunStatus, Side, Verdict};

use crate::plural::plural;

/// Name of the report in a result folder.
pub(crate) const REPORT_FILE: &str = "report.json";

/// Objects and lists within each other; a report of ours has six.
const MAX_DEPTH: usize = 24;

/// A box of sixteen devices has some two thousand checks.
const MAX_CHECKS: usize = 10_000;

/// Why a report could not be read; one sentence each.
#[derive(Debug, Error)]
pub(crate) enum ReadError {
    /// It could not be opened or read.
    #[error("cannot read {path}: {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Too deep to be one of ours.
    #[error(
        "{0} has more than {MAX_DEPTH} lists and objects within each other, which no report of ours has"
    )]
    TooDeep(PathBuf),
    /// It is JSON, or not even that, and no report.
    #[error("{path} is not a report of accept: {why}")]
    NotAReport {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// A later program wrote it.
    #[error(
        "{path} has schema {found}, and this program reads up to {REPORT_SCHEMA}; read it with the accept that wrote it, or a newer one"
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its schema.
        found: u64,
    },
    /// It contradicts itself.
    #[error("{path} is refused: {what}")]
    Unsound {
        /// The file.
        path: PathBuf,
        /// What it claims and cannot.
        what: String,
    },
}

/// The file that is read for a result folder or a file.
pub(crate) fn file_of(path: &Path) -> PathBuf {
    if path.is_dir() {
        path.join(REPORT_FILE)
    } else {
        path.to_owned()
    }
}

/// The report of a result folder, or of a file.
pub(crate) fn read(path: &Path) -> Result<Report, ReadError> {
    let file = file_of(path);
    let bytes = bounded::regular(&file, bounded::RESULT).map_err(|source| ReadError::Io {
        path: file.clone(),
        source,
    })?;
    parse(&bytes, &file)
}

/// The report in these bytes; `path` is for what is said of it.
pub(crate) fn parse(bytes: &[u8], path: &Path) -> Result<Report, ReadError> {
    if is_deep(bytes) {
        return Err(ReadError::TooDeep(path.to_owned()));
    }
    let report = match serde_json::from_slice::<Report>(bytes) {
        Ok(report) => report,
        // Only a file that is not understood is parsed twice, for a better word on why.
        Err(error) => return Err(not_understood(bytes, path, &error)),
    };
    if report.schema > REPORT_SCHEMA {
        return Err(ReadError::Newer {
            path: path.to_owned(),
            found: u64::from(report.schema),
        });
    }
    match unsound(&report) {
        None => Ok(report),
        Some(what) => Err(ReadError::Unsound {
            path: path.to_owned(),
            what,
        }),
    }
}

/// Whether lists and objects lie deeper than in any report; what stands in texts does not count.
fn is_deep(bytes: &[u8]) -> bool {
    let (mut depth, mut in_text, mut escaped) = (0_usize, false, false);
    for byte in bytes {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_text => escaped = true,
            b'"' => in_text = !in_text,
            _ if in_text => {}
            b'[' | b'{' => {
                depth += 1;
                if depth > MAX_DEPTH {
                    return true;
                }
            }
            b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    false
}

/// The two keys that tell what a file is.
#[derive(Deserialize)]
struct Kind {
    schema: u64,
    program: String,
}

/// What a file is that is no report of this version.
fn not_understood(bytes: &[u8], path: &Path, error: &serde_json::Error) -> ReadError {
    let path = path.to_owned();
    match serde_json::from_slice::<Kind>(bytes) {
        Ok(kind) if kind.program != "accept" => ReadError::NotAReport {
            path,
            why: format!("it says that `{}` wrote it", shown(&kind.program)),
        },
        Ok(kind) if kind.schema > u64::from(REPORT_SCHEMA) => ReadError::Newer {
            path,
            found: kind.schema,
        },
        _ => ReadError::NotAReport {
            path,
            why: shown(&error.to_string()),
        },
    }
}

/// What a report claims and cannot, the first of it; `None` where it agrees with itself.
///
/// What this program writes passes, which `run` relies on.
pub(crate) fn unsound(report: &Report) -> Option<String> {
    if report.program != "accept" {
        return Some(format!(
            "it says that `{}` wrote it",
            shown(&report.program)
        ));
    }
    if report.checks.len() > MAX_CHECKS {
        return Some(format!(
            "it has more than {MAX_CHECKS} checks, which no report of ours has"
        ));
    }
    if report.took_s < 0.0 {
        return Some("it took less than 0 s".to_owned());
    }
    let mut ids = HashSet::new();
    for check in &report.checks {
        let id = shown(&check.id);
        if !ids.insert(check.id.as_str()) {
            return Some(format!("check `{id}` stands in it twice"));
        }
        if let Some(what) = unsound_check(check) {
            return Some(format!("check `{id}` {what}"));
        }
    }
    let comes_to = BoxVerdict::of(&report.checks);
    let claimed = report.verdict;
    let is_accepted = rank(claimed) < rank(BoxVerdict::Inconclusive);
    if report.checks.is_empty() && is_accepted {
        return Some("it is accepted without a single check".to_owned());
    }
    // A run that was interrupted may say less than its checks, never more.
    if rank(claimed) < rank(comes_to) {
        return Some(format!(
            "its verdict is {} and its checks come to {}",
            claimed.words(),
            comes_to.words()
        ));
    }
    if claimed == BoxVerdict::Rejected && comes_to != BoxVerdict::Rejected {
        return Some("it is rejected and no required check of it failed".to_owned());
    }
    if is_accepted && report.status != RunStatus::Complete {
        return Some("it is accepted and its run did not end by itself".to_owned());
    }
    if report.exit_code == measure::exit::DONE && !is_accepted {
        return Some(format!(
            "its verdict is {} and its exit code 0",
            claimed.words()
        ));
    }
    None
}

/// From the best verdict to the worst.
fn rank(verdict: BoxVerdict) -> u8 {
    match verdict {
        BoxVerdict::Accepted => 0,
        BoxVerdict::AcceptedWithWarnings => 1,
        BoxVerdict::Inconclusive => 2,
        BoxVerdict::Rejected => 3,
    }
}

fn unsound_check(check: &Check) -> Option<String> {
    let code = check.reason.code;
    if !code.verdicts().contains(&check.verdict) {
        return Some(format!(
            "gives `{}` as the reason of {:?}, with which it cannot stand",
            code.word(),
            check.verdict
        ));
    }
    let is_judged = matches!(check.verdict, Verdict::Pass | Verdict::Warn | Verdict::Fail);
    if is_judged && check.evidence.is_empty() {
        return Some(format!("is judged {:?} without evidence", check.verdict));
    }
    if check.verdict == Verdict::Pass && !check.evidence.iter().any(is_looked_at) {
        return Some("passes and nothing of it was measured, counted or seen".to_owned());
    }
    if let Some(what) = check.evidence.iter().find_map(unsound_evidence) {
        return Some(what);
    }
    let limit = check.limit.as_ref()?;
    let is_held = check.verdict == Verdict::Pass && contradicts(check, limit);
    is_held.then(|| "passes and its figure lies beyond its own limit".to_owned())
}

/// Whether what was measured in the limit's unit lies beyond it, all of it.
fn contradicts(check: &Check, limit: &Limit) -> bool {
    let mut measured = check.evidence.iter().filter_map(|evidence| match evidence {
        Evidence::Measured { value, unit, .. } if *unit == limit.unit => Some(*value),
        _ => None,
    });
    let is_beyond = |value: f64| {
        let mut lines = limit.fail.into_iter().chain(limit.warn);
        lines.any(|line| match limit.good {
            Side::AtLeast => value < line,
            Side::AtMost => value > line,
        })
    };
    measured.clone().next().is_some() && measured.all(is_beyond)
}

/// How far a figure of a report may be from what its samples come to, as a part of it.
pub(super) const EQUAL: f64 = 1e-6;

/// Units of time, in which no figure is below nothing.
const TIMES: [&str; 4] = ["s", "ms", "us", "ns"];

/// What a piece of evidence claims and cannot.
fn unsound_evidence(evidence: &Evidence) -> Option<String> {
    match evidence {
        Evidence::Counted { over_s, what, .. } if *over_s < 0.0 => Some(format!(
            "has readings of `{}` that are less than 0 s apart",
            shown(what)
        )),
        Evidence::Measured {
            what,
            value,
            unit,
            n,
            low,
            high,
            samples,
            ..
        } => {
            let what = shown(what);
            let apart = |one: f64, other: f64| (one - other).abs() > EQUAL * one.abs();
            if let (Some(low), Some(high)) = (low, high) {
                if low > high {
                    return Some(format!(
                        "has an interval of `{what}` that ends before it begins"
                    ));
                }
                let is_outside = |value: f64| value < *low || value > *high;
                if is_outside(*value) && apart(*value, *low) && apart(*value, *high) {
                    return Some(format!("has a value of `{what}` outside its interval"));
                }
            }
            if TIMES.contains(&unit.as_str())
                && samples.iter().chain([value]).any(|time| *time < 0.0)
            {
                return Some(format!("has a time of `{what}` below 0 {unit}"));
            }
            if samples.is_empty() {
                return None;
            }
            if samples.len() != *n {
                return Some(format!(
                    "has n={n} for `{what}` and {}",
                    plural(samples.len(), "sample")
                ));
            }
            let median = median(samples)?;
            apart(median, *value)
                .then(|| format!("has a value of `{what}` that is not the median of its samples"))
        }
        _ => None,
    }
}

/// Whether something was looked at for this piece of evidence.
fn is_looked_at(evidence: &Evidence) -> bool {
    match evidence {
        Evidence::Measured { n, .. } | Evidence::Seen { n, .. } => *n > 0,
        Evidence::Counted { before, after, .. } => before.is_some() && after.is_some(),
    }
}

/// A text of a file in a message: short, and without control characters.
pub(super) fn shown(text: &str) -> String {
    measure::control::replaced(&text.chars().take(120).collect::<String>())
}
