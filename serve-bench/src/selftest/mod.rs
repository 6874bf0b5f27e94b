//! `serve-bench selftest`: this program's own error as a client, on this machine, against a server of known schedule.

mod args;
mod bounds;
mod compare;
mod cpus;
mod modes;
mod processes;
mod report;
mod run;
mod server;
mod text;

pub(crate) use args::Args;
pub(crate) use run::run;
pub(crate) use server::{ServerArgs, run as known_schedule};
