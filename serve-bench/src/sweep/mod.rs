//! `tplens serve sweep`: a matrix of loads on a server that runs or on servers that are started for it, one result folder a cell; resumes after a kill.

mod cells;
mod plan;
mod run;

pub(crate) use self::cells::{Cell, expand};
pub(crate) use self::plan::{Plan, SweepArgs, rate};
pub(crate) use self::run::run;
