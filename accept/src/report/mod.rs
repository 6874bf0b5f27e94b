//! What a run came to: verdicts with reasons and evidence, and the document around them.

mod check;
mod document;
mod machine;
mod read;
mod verdict;

pub(crate) use check::{Came, Check, Evidence, Limit, Ordered, Reason, Side};
pub(crate) use document::{
    Fingerprint, Node, ProfileUsed, REPORT_SCHEMA, Report, ReportDevice, RunStatus, hex,
};
pub(crate) use machine::BoxVerdict;
pub(crate) use read::{REPORT_FILE, file_of, read};
pub(crate) use verdict::{ReasonCode, Verdict};
