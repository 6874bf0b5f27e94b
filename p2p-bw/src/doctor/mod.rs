//! `tplens doctor`: the rules of crate `doctor` on this machine, a simulated machine, or a folder that holds a machine's files.

mod args;
mod document;
mod gather;
mod run;
mod shown;
mod software;

pub(crate) use args::DoctorArgs;
pub(crate) use run::run;
