//! Why a record has no such form.

use thiserror::Error;

/// The record holds something that another tool's form has no place for.
#[derive(Debug, Error, PartialEq, Eq)]
#[error("the record holds {holds}; only {wanted} have {form}' form")]
pub struct OtherPayload {
    /// The other tool.
    pub form: &'static str,
    /// What its form holds.
    pub wanted: &'static str,
    /// What the record holds.
    pub holds: &'static str,
}
