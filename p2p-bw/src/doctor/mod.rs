//! `p2p-bw doctor`: the rules of crate `doctor` on this machine, a soft box, or a folder that holds a machine's files.

mod args;
mod brief;
mod gather;
mod json;
mod run;
mod shown;
mod software;
mod text;

pub(crate) use args::DoctorArgs;
pub(crate) use run::run;
