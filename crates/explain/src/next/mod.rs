//! What to measure next.

mod candidates;
mod order;
mod reported;
mod step;

pub use order::next;
pub use step::{Measure, Narrowing, NextStep};
