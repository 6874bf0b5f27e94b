//! Reports from files: what is not sound is refused.

use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

use super::{BoxVerdict, Check, REPORT_SCHEMA, Report, RunStatus, Verdict};

/// The name of a report in the folder of its run.
pub(crate) const REPORT_FILE: &str = "report.json";

/// Why a report cannot be used.
#[derive(Debug, Error)]
pub(crate) enum ReadError {
    #[error("cannot read {path}: {source}")]
    Io { path: PathBuf, source: io::Error },
    #[error("{path} is not a report of accept: {detail}")]
    NotAReport { path: PathBuf, detail: String },
    #[error("{path} has schema {found}; this accept reads up to {REPORT_SCHEMA}")]
    Newer { path: PathBuf, found: u32 },
    #[error("{path} is refused: {what}")]
    Unsound { path: PathBuf, what: &'static str },
}

/// The report's file of a run's folder, or the file itself.
pub(crate) fn file_of(path: &Path) -> PathBuf {
    match path.is_dir() {
        true => path.join(REPORT_FILE),
        false => path.to_owned(),
    }
}

/// Reads the report of a folder or a file.
///
/// # Errors
/// Says what is wrong with it.
pub(crate) fn read(path: &Path) -> Result<Report, ReadError> {
    let file = file_of(path);
    let bytes = bounded::regular(&file, bounded::RESULT).map_err(|source| ReadError::Io {
        path: file.clone(),
        source,
    })?;
    parse(&bytes, &file)
}

/// Reads a report from its bytes.
pub(crate) fn parse(bytes: &[u8], path: &Path) -> Result<Report, ReadError> {
    let path = path.to_owned();
    let report = match serde_json::from_slice::<Report>(bytes) {
        Ok(report) => report,
        Err(error) => {
            let detail = record::control::replaced(&error.to_string());
            return Err(ReadError::NotAReport { path, detail });
        }
    };
    if report.schema > REPORT_SCHEMA {
        let found = report.schema;
        return Err(ReadError::Newer { path, found });
    }
    match unsound(&report) {
        None => Ok(report),
        Some(what) => Err(ReadError::Unsound { path, what }),
    }
}

/// What a report says that its own checks do not confirm.
pub(crate) fn unsound(report: &Report) -> Option<&'static str> {
    let is_accepted = report.verdict.exit_code() == record::exit::DONE;
    let is_without_evidence = |check: &Check| {
        matches!(check.verdict, Verdict::Pass | Verdict::Warn | Verdict::Fail)
            && check.evidence.is_empty()
    };
    if report.program != "accept" {
        Some("another program wrote it")
    } else if report.checks.iter().any(is_without_evidence) {
        Some("a check of it is judged without evidence")
    } else if is_accepted && BoxVerdict::of(&report.checks) != report.verdict {
        Some("it is accepted and its checks are not")
    } else if is_accepted && report.status != RunStatus::Complete {
        Some("it is accepted and its run did not end by itself")
    } else {
        None
    }
}
