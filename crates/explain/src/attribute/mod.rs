//! Where the time of a step on several GPUs goes, by Monte Carlo over what is not known exactly.

pub(crate) mod attention;
pub(crate) mod cost;
pub(crate) mod deck;
mod draws;
mod gemm;
pub(crate) mod prepare;
mod result;
mod sensitivity;
pub(crate) mod step;
mod substitute;
mod terms;
mod traced;
mod waterfall;
mod work;

pub use result::{
    Attribution, Bar, Cause, Claim, CollectiveCost, Grade, HalfModel, Implied, PublishedTime,
    Refusal, StepFrom,
};
pub use sensitivity::{Measurement, PriorShare, VarianceShare};
#[cfg(test)]
pub(crate) use substitute::scaled;
pub(crate) use substitute::{Bench, Step, Swap, Swapped, is_by_own_curve};
pub use work::attribute;

pub(crate) use terms::{Collectives, Compute, ComputeDeck, Taken, spread_of, step_from};
