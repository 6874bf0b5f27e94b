//! `serve-bench run`: the load generator.

mod args;
mod caveats;
mod client;
mod clock;
mod connection;
mod content;
mod data;
mod dispatch;
mod heard;
mod intake;
mod key;
mod own;
mod progress;
mod read;
mod reply;
mod request;
mod run;
mod secrets;
mod session;
mod setup;
mod simulated;
mod slot;
mod tally;
mod target;
mod tls;

pub(crate) use args::Args;
pub(crate) use run::run;
pub(crate) use secrets::without_headers;

/// The header with which the embedded engine says which soft box it plays.
const SOFT_BOX_HEADER: &str = "x-tplens-soft-box";

/// Instants of chunks in one run at most: at 20 bytes each they stay well below the 256 MiB up to which a journal is read.
const MAX_CHUNKS: u64 = 10_000_000;

#[cfg(test)]
mod tests;
