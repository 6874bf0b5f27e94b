//! `tplens doctor`: the rules of crate `doctor` on this machine, a simulated machine, or a folder that holds a machine's files.

mod document;
mod gather;
mod run;
mod software;

pub(crate) use gather::DoctorArgs;
pub(crate) use run::run;
