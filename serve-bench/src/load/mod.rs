//! `serve-bench run`: the load generator.

mod args;
mod caveats;
mod chunk;
mod closed_loop;
mod connection;
mod own;
mod progress;
mod prompt;
mod read;
mod reply;
mod request;
mod run;
mod session;
mod slot;
mod sse;
mod tally;
mod target;

pub(crate) use args::Args;
pub(crate) use run::run;

/// The header with which the embedded engine says which soft box it plays.
const SOFT_BOX_HEADER: &str = "x-tplens-soft-box";

#[cfg(test)]
mod tests;
