//! Running: what is done, in which order and how long; programs as processes; the monitor beside them; counters; the journal; going on
//! with a run that was broken off.

mod again;
mod counters;
mod course;
mod draft;
mod folder;
mod monitor;
mod outcome;
mod plan;
mod scene;
mod session;
mod start;
mod steps;
mod write;

pub(crate) use draft::draft;
pub(crate) use folder::JOURNAL;
pub(crate) use plan::plan;
pub(crate) use start::run;
pub(crate) use write::told;
