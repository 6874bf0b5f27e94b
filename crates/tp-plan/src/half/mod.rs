//! A rank's share of a model as a model of its own, for one GPU: what it reads, and how an engine is told to run it.
//!
//! `T(TP2) - T(half model)` is the communication that a step shows, with no model of it.

mod model;
mod share;

pub use model::HalfModel;
pub use share::{HalfError, half, must_be_written};

#[cfg(test)]
mod tests;
