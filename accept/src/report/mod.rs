//! What a run came to: verdicts with reasons and evidence, and the document around them.

mod alone;
mod check;
mod document;
mod expected;
mod read;
mod verdict;

pub(crate) use alone::{contradiction, set_aside, untold};
pub(crate) use check::{Check, Evidence, Limit, Reason, Seen, Side, Subject};
pub(crate) use document::{
    Fingerprint, Node, ProfileUsed, REPORT_SCHEMA, Report, ReportDevice, RunStatus, Series, Setting,
};
pub(crate) use read::{REPORT_FILE, file_of, read, unsound};
#[cfg(test)]
pub(crate) use read::{ReadError, parse};
pub(crate) use verdict::{BoxVerdict, ReasonCode, Verdict};

#[cfg(test)]
mod tests;
