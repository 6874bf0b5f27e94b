//! Where the time of a step on several GPUs goes, by Monte Carlo over what is not known exactly.

pub(crate) mod cost;
pub(crate) mod deck;
mod draws;
pub(crate) mod prepare;
mod result;
mod sensitivity;
pub(crate) mod step;
mod substitute;
mod traced;
mod waterfall;
mod work;

pub use result::{
    Attribution, Bar, Basis, Cause, Claim, CollectiveCost, HalfModel, Implied, Measurement,
    StepFrom, TimeSource, VarianceShare,
};
#[cfg(test)]
pub(crate) use substitute::scaled;
pub(crate) use substitute::{Bench, Step};
pub use substitute::{CommunicationFrom, NoSubstitute};
pub(crate) use waterfall::{collectives, grade};
pub use work::attribute;
