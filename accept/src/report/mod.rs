//! What a run came to: verdicts with reasons and evidence, and the document around them.

mod check;
mod document;
mod verdict;

pub(crate) use check::{
    Came, Check, Counted, Evidence, Limit, Measured, Ordered, Reason, Seen, Side,
};
pub(crate) use document::{
    BoxVerdict, Fingerprint, Node, ProfileUsed, REPORT_FILE, REPORT_SCHEMA, Report, ReportDevice,
    RunStatus, hex,
};
pub(crate) use verdict::{ReasonCode, Verdict};
