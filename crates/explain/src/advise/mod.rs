//! What to do about it: rules over what was found, each with the effect that arithmetic gives and what it rests on.

mod advice;
mod commands;
mod engine;
mod found;
mod links;
mod load;
mod peers;
mod rules;

pub use advice::{Advice, Effect, Rule};
pub(crate) use commands::{Commands, NEEDS_REAL};
pub(crate) use load::files_mixed_up;
pub(crate) use peers::library_told_off;
pub use rules::advise;
