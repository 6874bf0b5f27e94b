//! `tplens half`: a rank's share of a model as a model of its own on one GPU, printed as a server's command, written
//! as a configuration, or run under a load. What TP2 takes longer than it is communication.

mod args;
mod run;

pub(crate) use self::args::HalfModelArgs;
pub(crate) use self::run::run;
