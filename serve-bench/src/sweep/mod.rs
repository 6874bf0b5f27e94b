//! `tplens serve sweep`: a matrix of loads on a server that runs or on servers that are started for it, one result folder a cell; resumes after a kill.

mod args;
mod command;
mod diagnosis;
mod document;
mod expand;
mod knee;
mod matrix;
mod plan;
mod run;
mod serving;

pub(crate) use self::args::SweepArgs;
pub(crate) use self::expand::{Cell, expand};
pub(crate) use self::plan::Plan;
pub(crate) use self::run::run;
