//! `tplens serve sweep`: a matrix of loads on a server that runs or on servers that are started for it, one result folder a cell; resumes after a kill.

mod args;
mod document;
mod expand;
mod knee;
mod plan;
mod run;

pub(crate) use self::args::{SweepArgs, rate};
pub(crate) use self::expand::{Cell, expand};
pub(crate) use self::plan::Plan;
pub(crate) use self::run::run;
