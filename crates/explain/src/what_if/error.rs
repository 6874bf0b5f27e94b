//! What cannot be asked.

/// Something that cannot be asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct WhatIfError(pub String);
