//! Records as text for a terminal.

mod case;
mod cell;
mod collectives;
mod header;
mod links;
mod notes;
mod record;
mod serve;

pub use record::{links, record};

#[cfg(test)]
mod tests;
