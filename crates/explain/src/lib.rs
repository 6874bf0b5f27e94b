//! Why tensor parallelism gives less than it could: gates, attribution with intervals, advice.
//!
//! Pure: it reads no file, measures nothing and runs nothing. What was not measured comes from `priors.toml`, each range with
//! its source, and widens the intervals.
#![forbid(unsafe_code)]

mod advise;
mod attribute;
mod curve;
mod explanation;
mod gates;
mod inputs;
mod next;
mod priors;
mod random;
mod range;
mod slope;
mod text;

pub use advise::{Advice, Effect, Rule, advise};
pub use attribute::{
    Attribution, Bar, Cause, Claim, CollectiveCost, Grade, HalfModel, Implied, Measurement,
    PriorShare, PublishedTime, Refusal, StepFrom, VarianceShare, attribute,
};
pub use explanation::{Explanation, InputSource, Outcome, SCHEMA, explain};
pub use gates::{Gate, Verdict, gates};
pub use inputs::{Evidence, Inputs, KnownBox, PeerState};
pub use next::{NextStep, next};
pub use priors::{Basis, Override, Prior, PriorError, Priors, Shape};
pub use range::Range;
pub use slope::{Ablation, Arm, Change, Launch};
pub use text::{answer, half_width, heading, prior_shares, text};

/// Draws that are enough for intervals that do not move in their second digit.
pub const DRAWS: u32 = 20_000;
