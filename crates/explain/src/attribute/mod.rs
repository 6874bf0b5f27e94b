//! Where the time of a step on several GPUs goes, by Monte Carlo over what is not known exactly.

mod anchor;
pub(crate) mod attention;
mod claim;
pub(crate) mod cost;
pub(crate) mod deck;
mod draws;
mod gemm;
mod half;
mod held_back;
mod launches;
mod leading;
mod left_out;
mod misfit;
pub(crate) mod prepare;
pub(crate) mod prompts;
mod result;
mod sensitivity;
pub(crate) mod step;
mod substitute;
mod term;
mod terms;
mod traced;
mod unseen;
mod waterfall;
mod work;

pub(crate) use claim::untold;
pub use half::{Rival, RivalKind};
pub(crate) use left_out::unused;
pub use misfit::{Misfit, Timed};
pub(crate) use prepare::OVERLAP;
pub(crate) use result::ELSEWHERE;
pub use result::{
    Attribution, Bar, Cause, Claim, CollectiveCost, Grade, HalfModel, Implied, Lack, PublishedTime,
    Refusal, StepFrom,
};
pub use sensitivity::{Measurement, PriorShare, VarianceShare};
#[cfg(test)]
pub(crate) use substitute::scaled;
pub(crate) use substitute::{Bench, Step, Swap, Swapped};
pub(crate) use waterfall::grade;
pub use work::attribute;
pub(crate) use work::{WRONG_UNIT, wrong_unit};

pub(crate) use cost::by_hand;
pub(crate) use step::of_bound;
pub(crate) use terms::{Collectives, Compute, ComputeDeck, Taken, spread_of, step_from};
