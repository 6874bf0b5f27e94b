//! `tplens serve slo`: the largest request rate, or concurrency, at which latencies keep what was promised.
//!
//! What to try next (`search`), whether latencies keep a limit (`objective`), whether a rate was sustained (`sustained`) and
//! the verdict on a run (`verdict`) are pure; each run is a `tplens serve run` of its own.

mod args;
mod document;
mod objective;
mod run;
mod search;
pub(crate) mod sustained;
mod verdict;

pub(crate) use self::args::SloArgs;
pub(crate) use self::run::run;
