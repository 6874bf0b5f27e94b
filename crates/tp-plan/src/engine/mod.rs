//! Engines: their facts, their defaults, and which path a message takes.

mod around;
mod defaults;
mod facts;
mod path;

pub use facts::{CustomAllReduce, Engine, EngineFacts, Execution, OffCause, Surroundings, Vendor};

#[cfg(test)]
mod tests;
