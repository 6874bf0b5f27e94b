//! `tplens serve sweep-report`: sweeps of several machines together, ours or vLLM's files distinguished by their names, and what a
//! narrower link costs in them.
//!
//! What two results may be compared by is decided in `compare`; here it is which pairs there are, how they are confounded, and how
//! far apart a pair lies between which nothing should differ.

mod args;
mod document;
mod gather;
mod pairs;
mod place;
mod report;
mod run;
mod setups;

pub(crate) use args::SweepReportArgs;
pub(crate) use run::run;
