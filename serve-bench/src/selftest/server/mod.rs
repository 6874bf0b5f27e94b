//! `serve-bench known-schedule`: a server whose tokens leave at instants that are known beforehand, and that keeps the true ones.
//!
//! It is what a load generator is measured against: one thread, no model, an absolute schedule for each request, and an instant
//! right before each write. `GET /truth` gives what happened. It is no engine: nothing is computed and no request waits for
//! another; `serve-bench engine` simulates one.

mod args;
mod asked;
mod clock;
mod connection;
mod http;
mod manner;
mod run;
mod socket;
#[cfg(test)]
mod tests;
mod truth;
mod turns;
mod words;

pub(crate) use args::ServerArgs;
pub(super) use args::milliseconds;
pub(super) use manner::Reasoning;
pub(crate) use run::run;
pub(super) use truth::{Truth, TruthOf};
