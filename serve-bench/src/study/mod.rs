//! `tplens study` and `demo`: runs the other programs one after the other, with files between them, and explains.
//!
//! It plans the steps; [`runner::run::Run`] does them. Nothing is measured in this process.

mod args;
mod demo;
pub(crate) mod engines;
pub(crate) mod load;
mod planner;
pub(crate) mod room;
pub(crate) mod shell;
pub(crate) mod steps;

pub(crate) use self::args::{StudyArgs, backends};
pub(crate) use self::demo::{DemoArgs, demo};
pub(crate) use self::planner::embedded;
pub(crate) use self::planner::resumable;
pub(crate) use self::planner::run;
use self::planner::{Extras, Study};
