//! Why a record has no form in vLLM's words.

use thiserror::Error;

/// Why a record has no such form.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum ExportError {
    /// The record holds something else.
    #[error("the record holds {0}; only a serving benchmark has vLLM's form")]
    NotServe(&'static str),
    /// The run ended before its first request.
    #[error("the run ended before its first request; run it again")]
    NotBegun,
    /// No request completed, or the run was broken off.
    #[error(
        "the record has no summary, since no request completed or the run was broken off; run it again"
    )]
    NoSummary,
}
