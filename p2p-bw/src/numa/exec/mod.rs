//! `tplens numa exec`: a program bound to the NUMA nodes of its GPUs, its own workers watched.
//!
//! The program and all that it starts are children and grandchildren of this process, which passes signals on, returns the
//! program's exit code, and is asked at the end where each of them was. Nothing is measured.

mod args;
mod gpu_files;
mod report;
mod run;
mod start;
mod target;
mod watch;

pub(crate) use args::ExecArgs;
pub(crate) use run::run;
