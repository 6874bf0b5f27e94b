//! Why a file was not taken.

use thiserror::Error;

use record::{FolderError, RecordError};

/// Why a result of another tool, or of ours, was not taken. Every one of them is bad input.
#[derive(Debug, Error)]
pub enum ImportError {
    /// The file could not be read.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// The content looks like a record of ours and is none.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// The file has no format that is known here.
    #[error("{origin} has no format that is known here; looked for {looked_for}")]
    Unknown {
        /// The file.
        origin: String,
        /// The formats, in words.
        looked_for: &'static str,
    },
    /// Something that the file must say is missing.
    #[error("{origin} does not say {what}; {next}")]
    Missing {
        /// The file.
        origin: String,
        /// What, with the keys that were looked for.
        what: String,
        /// What to do.
        next: String,
    },
    /// A value that cannot be.
    #[error("{origin}: {key} is {seen}; expected {want}")]
    Nonsense {
        /// The file.
        origin: String,
        /// The key, column or line.
        key: String,
        /// What stands there.
        seen: String,
        /// What could stand there.
        want: String,
    },
    /// The file is understood and cannot be used.
    #[error("{origin} {why}")]
    Unusable {
        /// The file.
        origin: String,
        /// Why, and the next step.
        why: String,
    },
}

impl ImportError {
    /// Of a file without a known format.
    pub(crate) fn unknown(origin: &str, looked_for: &'static str) -> Self {
        let origin = origin.to_owned();
        Self::Unknown { origin, looked_for }
    }

    /// Of a file that is understood and cannot be used.
    pub(crate) fn unusable(origin: &str, why: impl Into<String>) -> Self {
        Self::Unusable {
            origin: origin.to_owned(),
            why: why.into(),
        }
    }
}
