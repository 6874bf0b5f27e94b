//! `tplens serve selftest`: this program's own error as a client, on this machine: what it reports beside what the embedded engine
//! counted of the same requests.

mod args;
mod cpus;
mod document;
mod line;
mod run;

pub(crate) use args::Args;
pub(crate) use run::run;
