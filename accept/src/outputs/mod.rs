//! What comes out: a report as text, page, JUnit, Prometheus's text file and JSON, without identities unless they were asked for; also
//! `accept report` and `accept explain`.
//!
//! Nothing is judged here. Every form but JSON is of a cleaned copy: control characters out, long texts cut.

mod again;
mod answer;
mod differs;
mod explain;
mod forms;
mod junit;
mod page;
mod paths;
mod pictures;
mod prometheus;
mod redact;
mod text;
mod texts;
mod words;

pub(crate) use again::again;
pub(crate) use differs::differs;
pub(crate) use explain::explain;
pub(crate) use forms::{check, check_not_read, json, write};
pub(crate) use junit::junit;
pub(crate) use page::html;
pub(crate) use prometheus::prometheus;
pub(crate) use redact::{NODE_WITHHELD, redacted};
pub(crate) use text::text;

#[cfg(test)]
pub(crate) mod tests;
