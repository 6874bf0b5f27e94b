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
mod sweep;

pub use ends::direction;
pub use record::{links, record};

#[cfg(test)]
mod tests;
