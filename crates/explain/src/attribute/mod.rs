//! Where the time of a step on several GPUs goes, by Monte Carlo over what is not known exactly.

pub(crate) mod cost;
pub(crate) mod deck;
mod draws;
pub(crate) mod prepare;
mod result;
mod sensitivity;
pub(crate) mod step;
mod traced;
mod waterfall;
mod what_if;
mod work;

pub use result::{
    Attribution, Bar, Basis, Cause, Claim, CollectiveCost, HalfModel, Implied, Measure, StepFrom,
    TimeSource, VarianceShare,
};
pub(crate) use waterfall::{collectives, grade};
pub use what_if::{By, CommunicationFrom, NoSubstitute, Substituted, WhatIf, WhatIfError, what_if};
pub use work::attribute;
