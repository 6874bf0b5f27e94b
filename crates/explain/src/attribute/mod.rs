//! Where the time of a step on several GPUs goes, by Monte Carlo over what is not known exactly.

mod cost;
mod deck;
mod draws;
mod gemm;
mod prepare;
mod result;
mod sensitivity;
mod step;
mod traced;
mod waterfall;
mod work;

pub use result::{
    Attribution, Bar, Cause, Claim, CollectiveCost, Grade, HalfModel, Implied, PublishedTime,
    Refusal, StepFrom,
};
pub use sensitivity::{Measurement, PriorShare, VarianceShare};
pub use work::attribute;
