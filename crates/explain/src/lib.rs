//! Why tensor parallelism gives less than it could: findings, attribution with intervals, advice. Numbers and codes, no words.
//!
//! Pure: it reads no file, measures nothing and runs nothing. What was not measured comes from `priors.toml`, each range with
//! its source, and widens the intervals.
#![forbid(unsafe_code)]

mod advise;
mod attribute;
mod checks;
mod commands;
mod curve;
mod explanation;
mod finding;
mod inputs;
mod next;
mod peaks;
mod predict;
mod priors;
mod range;
mod run_shape;
mod slope;

pub use advise::{Advice, Effect, Rule, advise};
pub use attribute::{
    Attribution, Bar, Basis, By, Cause, Claim, CollectiveCost, CommunicationFrom, HalfModel,
    Implied, Measure, NoSubstitute, StepFrom, Substituted, TimeSource, VarianceShare, WhatIf,
    WhatIfError, attribute, what_if,
};
pub use checks::findings;
pub use explanation::{Explanation, InputSource, Outcome, SCHEMA, Taken, explain};
pub use finding::{Condition, Finding, Refusal};
pub use inputs::{Evidence, Inputs, KnownBox, PeerState, Seen, ServerLog, copy_rate};
pub use next::{NextStep, next};
pub use peaks::Peak;
pub use predict::{
    DESCRIBED, Level, Link, NotPredicted, PREDICTION_SCHEMA, PredictError, PredictInputs,
    Predicted, Prediction, Serving, predict, room,
};
pub use priors::{
    Basis as PriorBasis, Override, Prior, PriorError, Priors, PublishedCurve, PublishedPath, Shape,
};
pub use range::{Grade, Range};
pub use slope::{
    Ablation, Arm, ArmSummary, Change, DelayControl, EMBEDDED, LEAST_LAUNCHES, Launch, Slope,
    SlopeFit, SlopeVerdict, Undecided, slope,
};

/// Draws of an explanation: the ends of intervals then move by less than a hundredth of their width.
pub const DRAWS: u32 = 20_000;
