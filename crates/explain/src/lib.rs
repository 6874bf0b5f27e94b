//! Why tensor parallelism gives less than it could: gates, attribution with intervals, advice.
//!
//! Pure: it reads no file, measures nothing and runs nothing. What was not measured comes from `priors.toml`, each range with
//! its source, and widens the intervals.
#![forbid(unsafe_code)]

mod ablated;
mod advise;
mod attribute;
mod bounded;
mod contradiction;
mod curve;
mod explanation;
mod first_token;
mod gates;
mod gpu_name;
mod growth;
mod inputs;
mod links;
mod next;
mod predict;
mod priors;
mod random;
mod range;
mod seen;
mod slope;
mod text;
mod what_if;
mod words;

pub use advise::{Advice, Effect, Rule, advise};
pub use attribute::{
    Attribution, Bar, Cause, Claim, CollectiveCost, Grade, HalfModel, Implied, Lack, Measurement,
    Misfit, PriorShare, PublishedTime, Refusal, Rival, RivalKind, StepFrom, Timed, VarianceShare,
    attribute,
};
pub use bounded::{Bounded, ChunkBound, ChunkReduce, FlightBound, FlightPoint, PathBound, bounded};
pub use contradiction::not_one_curve;
pub use explanation::{Explanation, InputSource, Outcome, SCHEMA, explain, explain_if};
pub use first_token::{FirstToken, first_token};
pub use gates::{Gate, Verdict, counted, gates};
pub use gpu_name::is_another_gpu;
pub use growth::not_growing;
pub use inputs::{Evidence, Inputs, KnownBox, PeerState, ServerLog};
pub use links::{
    Between, Difference, LinkComparison, LinkFigures, LinkOutcome, LinkPrediction, LinkSide,
    LinkVerdict, Needed, PhysicalLink, SideFacts, SizeAttribution, SizeBar, SizeCause,
    SizeComparison, SizeOutcome, SizeRate, TimeOf, WireDifference, WireTime, compare_links,
    compare_sizes, links_answer, links_heading, links_text, sizes_answer, sizes_text,
};
pub use next::{Narrowing, NextStep, Raises, next};
pub use predict::{
    DESCRIBED, Level, Link, MeasuredRate, NotPredicted, PREDICTION_SCHEMA, Part, PartName, Peak,
    PredictError, PredictInputs, Predicted, Prediction, PublishedAllReduce, Room, Serving, between,
    predict, prediction_text,
};
pub use priors::{Basis, Override, Prior, PriorError, Priors, Shape};
pub use range::Range;
pub use seen::{Seen, Variable};
pub use slope::{
    Ablation, AblationError, Arm, ArmSummary, Beside, Change, ConstantPart, DelayControl, EMBEDDED,
    HalfCheck, LEAST_LAUNCHES, LateLaunches, Launch, NegativeControl, Power, Residual, Slope,
    SlopeEvidence, SlopeFit, SlopeVerdict, slope, slope_answer, slope_controls, slope_text,
};
pub use text::{
    Topic, answer, free_links, gates_of_runs, grades, half_width, heading, implied, in_figures,
    passed, prior_shares, step_decimals, text, too_much, warning,
};
pub use what_if::{
    Answer, By, CommunicationFrom, LinkRate, Substituted, Substitution, WhatIf, WhatIfError,
    what_if,
};
pub use words::number_of;

/// Draws that are enough for intervals that do not move in their second digit.
pub const DRAWS: u32 = 20_000;
