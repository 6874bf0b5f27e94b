//! `serve-bench validate`: explanations of boxes whose truth is known, because the engine in virtual time was given it.
//!
//! A truth is drawn, the engine runs it, what a client and allreduce-bench would have seen goes to the explanation, and what that
//! says is held against the truth. It tests the statistics, not the priors: whether ranges are those of real boxes, no simulation
//! can tell.

mod args;
mod assumption;
mod bounds;
mod chance;
mod judge;
mod observe;
mod report;
mod run;
mod slopes;
mod tally;
#[cfg(test)]
mod tests;
mod text;
mod truth;

pub(crate) use args::ValidateArgs;
pub(crate) use run::run;
