//! The comparisons: what our program says of a machine against what its shape and other tools say.

mod difference;
mod proofs;
mod table;
mod topology;

pub(super) use table::CHECKS;
