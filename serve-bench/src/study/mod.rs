//! `tplens study` and `demo`: runs the other programs one after the other, with files between them, and explains.
//!
//! It plans the steps; [`runner::run::Run`] does them. Nothing is measured in this process.

mod demo;
pub(crate) mod engines;
mod run;
pub(crate) mod subject;

pub(crate) use self::demo::{DemoArgs, demo};
pub(crate) use self::run::{StudyArgs, run};
