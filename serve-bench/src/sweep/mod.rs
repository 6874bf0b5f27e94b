//! `serve-bench sweep`: a matrix of loads on servers that are started for it, one result folder a cell; goes on after a kill.

mod args;
mod diagnosis;
mod expand;
mod plan;
mod run;
mod serving;

pub(crate) use self::args::SweepArgs;
pub(crate) use self::run::run;
