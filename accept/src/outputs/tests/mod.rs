//! Tests of what comes out, on hand-made reports.

mod explain;
mod forms;
mod junit;
mod page;
mod prometheus;
mod redact;
pub(crate) mod sample;
mod text;
