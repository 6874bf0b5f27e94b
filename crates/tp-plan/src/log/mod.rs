//! Logs of serving engines: what they say of how the engine runs.

mod apply;
mod facts;
mod lines;
mod pairs;
mod read;
mod reading;
mod rules;
mod starts;

pub use facts::{Counted, EngineLog, Graphs, Library, Said, Warned};

#[cfg(test)]
mod tests;
