//! `serve-bench sweep`: a matrix of loads on servers that are started for it, one result folder a cell; goes on after a kill.

mod again;
mod args;
mod command;
mod diagnosis;
mod expand;
mod memory;
mod plan;
mod run;
mod serving;
mod theirs;

pub(crate) use self::args::SweepArgs;
pub(crate) use self::expand::{Cell, Group, expand};
pub(crate) use self::plan::{Plan, Setup};
pub(crate) use self::run::run;
