//! What to do about it: rules over what was found, each with the effect that arithmetic gives and what it rests on.

mod advice;
mod communication;
mod load;
mod rules;

pub use advice::{Advice, Effect, Rule};
pub use rules::advise;
