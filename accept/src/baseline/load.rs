//! Reading a baseline, which may be anybody's file.

use std::io;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};
use thiserror::Error;

use super::{BASELINE_SCHEMA, Baseline};

/// Why a baseline could not be read; one sentence each.
#[derive(Debug, Error)]
pub(crate) enum BaselineError {
    /// It could not be opened or read.
    #[error("cannot read {path}: {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// It is something else.
    #[error(
        "{path} is no baseline: {why}; make one with `tplens accept baseline capture RUN --out FILE`"
    )]
    NotABaseline {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// A later program wrote it.
    #[error(
        "{path} has schema {found}, and this program reads {BASELINE_SCHEMA}; make it again with this accept"
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its schema.
        found: u32,
    },
}

/// A baseline with the sha256 of its file, which a report names.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Loaded {
    /// The baseline.
    pub(crate) baseline: Baseline,
    /// sha256 of the file, hex.
    pub(crate) sha256: String,
}

/// Reads a baseline.
///
/// # Errors
/// It cannot be read, or is none; a figure of it is no number above zero.
pub(crate) fn load(path: &Path) -> Result<Loaded, BaselineError> {
    let bytes = bounded::regular(path, bounded::RESULT).map_err(|source| BaselineError::Io {
        path: path.to_owned(),
        source,
    })?;
    let refused = |why: String| BaselineError::NotABaseline {
        path: path.to_owned(),
        why,
    };
    let baseline: Baseline =
        serde_json::from_slice(&bytes).map_err(|error| refused(error.to_string()))?;
    if baseline.schema > BASELINE_SCHEMA {
        return Err(BaselineError::Newer {
            path: path.to_owned(),
            found: baseline.schema,
        });
    }
    if let Some(why) = unsound(&baseline) {
        return Err(refused(why));
    }
    let sha256 = Sha256::digest(&bytes)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    Ok(Loaded { baseline, sha256 })
}

/// What of a baseline cannot be; `None` where all can.
fn unsound(baseline: &Baseline) -> Option<String> {
    if baseline.figures.is_empty() {
        return Some("it has no figure".to_owned());
    }
    baseline.figures.iter().find_map(|figure| {
        let is_sound = |sample: &f64| sample.is_finite() && *sample > 0.0;
        let name = record::control::replaced(&figure.check);
        match &figure.samples {
            samples if samples.is_empty() => Some(format!("`{name}` has no samples")),
            samples if !samples.iter().all(is_sound) => {
                Some(format!("a sample of `{name}` is not above zero"))
            }
            _ => None,
        }
    })
}
