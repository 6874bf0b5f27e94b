//! Reports from files.

use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

use super::{REPORT_SCHEMA, Report};

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
    #[error("{path} is refused: another program wrote it")]
    OfAnother { path: PathBuf },
    #[error("{path} is refused: it is accepted and its checks are not")]
    Unsound { path: PathBuf },
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
    let path = file_of(path);
    let bytes = match bounded::regular(&path, bounded::RESULT) {
        Ok(bytes) => bytes,
        Err(source) => return Err(ReadError::Io { path, source }),
    };
    let report: Report = match serde_json::from_slice(&bytes) {
        Ok(report) => report,
        Err(error) => {
            let detail = record::control::replaced(&error.to_string());
            return Err(ReadError::NotAReport { path, detail });
        }
    };
    match report.schema {
        found if found > REPORT_SCHEMA => Err(ReadError::Newer { path, found }),
        _ if report.program != "accept" => Err(ReadError::OfAnother { path }),
        _ if report.is_unsound() => Err(ReadError::Unsound { path }),
        _ => Ok(report),
    }
}
