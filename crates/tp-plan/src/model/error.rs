//! Why a model is not known.

use std::path::PathBuf;

use thiserror::Error;

/// Why a model is not known.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ModelError {
    /// Neither a shipped model nor a file.
    #[error(
        "{name} is neither a model that is shipped ({shipped}) nor a config.json; name one of them"
    )]
    Unknown {
        /// What was asked for.
        name: String,
        /// The names of shipped models.
        shipped: String,
    },
    /// The file cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: std::io::Error,
    },
    /// The file is no model configuration that this program understands.
    #[error("{origin}: {reason}")]
    NotAConfig {
        /// The file.
        origin: String,
        /// What is wrong, with the key.
        reason: String,
    },
    /// The model cannot be cut into that many parts.
    #[error(
        "{model} has {heads} attention heads, which {tp} ranks cannot share evenly; choose a tensor parallel size that divides {heads}"
    )]
    Indivisible {
        /// The model.
        model: String,
        /// Its query heads.
        heads: u32,
        /// The tensor parallel size that was asked for.
        tp: u32,
    },
}
