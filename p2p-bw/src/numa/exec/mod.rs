//! `tplens numa exec`: this process bound to the NUMA nodes of GPUs, which then becomes the program. Nothing is measured.

mod args;
mod follow;
mod run;
mod target;

pub(crate) use args::ExecArgs;
pub(crate) use run::run;
