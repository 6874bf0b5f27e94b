//! Records as text for a terminal.

mod case;
mod cell;
mod collectives;
mod ends;
mod header;
mod links;
mod matrix;
mod notes;
mod numa;
mod peers;
mod record;
mod rows;
mod serve;
mod serve_client;
mod serve_server;
mod sweep;

pub use ends::direction;
pub use record::{links, record};
pub use serve::{serve_counts, serve_heads, serve_latencies};
pub use serve_server::serve_beside;

#[cfg(test)]
mod tests;
