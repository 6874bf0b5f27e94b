//! Where the time of a step on several GPUs goes, by Monte Carlo over what is not known exactly.

pub(crate) mod cost;
pub(crate) mod deck;
mod draws;
mod launches;
pub(crate) mod prepare;
pub(crate) mod prompts;
mod result;
mod sensitivity;
mod share;
pub(crate) mod step;
mod substitute;
mod term;
mod terms;
mod traced;
mod unseen;
mod unused;
mod waterfall;
mod work;

pub use result::{
    Attribution, Bar, Basis, Cause, Claim, CollectiveCost, HalfModel, Implied, Misfit, StepFrom,
    TimeSource,
};
pub use share::{Measurement, PriorShare, VarianceShare};
#[cfg(test)]
pub(crate) use substitute::scaled;
pub(crate) use substitute::{Bench, Step, Swap};
pub use substitute::{CommunicationFrom, NoSubstitute};
pub(crate) use unused::unused;
pub(crate) use waterfall::{collectives, grade};
pub use work::attribute;
