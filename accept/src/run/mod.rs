//! Running: what is done, in which order and how long; programs as processes; the monitor beside them; counters; the journal; going on
//! with a run that was broken off.

mod again;
mod asked;
mod commands;
mod counters;
mod course;
mod draft;
mod environment;
mod folder;
mod journal;
mod machine;
mod matching;
mod monitor;
mod outcome;
mod plan;
mod scene;
mod session;
mod soak;
mod start;
mod steps;
mod watching;
mod write;

use asked::{loaded, matches, time_budget};
pub(crate) use draft::draft;
pub(crate) use journal::FILE as JOURNAL_FILE;
pub(crate) use plan::plan;
pub(crate) use start::run;
pub(crate) use steps::Plan;
pub(crate) use write::told;
