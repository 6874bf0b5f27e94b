//! `tplens serve run`: the load generator.

mod args;
mod budget;
mod client;
mod clock;
mod connection;
mod content;
mod data;
mod dispatch;
mod findings;
mod intake;
mod key;
mod own;
mod prefill;
mod progress;
mod reply;
mod request;
mod run;
mod secrets;
mod session;
mod setup;
mod slot;
mod tally;
mod target;
mod tls;

pub(crate) use args::{Args, within};
pub(crate) use key::authorization;
pub(crate) use run::run;
pub(crate) use secrets::without_headers;
pub(crate) use tls::Trust;

/// The header with which the embedded engine says which simulated machine it plays.
const SOFT_BOX_HEADER: &str = "x-tplens-soft-box";

/// Bytes of a model's id at most: it stands in every request, and in every result.
const MAX_MODEL_BYTES: usize = 256;

#[cfg(test)]
mod tests;
