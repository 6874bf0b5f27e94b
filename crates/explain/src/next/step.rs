//! A measurement that would narrow an interval, with what it brings and takes. Which there are, and their order, stand elsewhere.

use serde::{Deserialize, Serialize};

use crate::attribute::VarianceShare;

/// A measurement that would narrow an interval.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NextStep {
    /// What of the variance it explains to first order; of what only replaces the interval, at most.
    pub share: VarianceShare,
    /// What to measure.
    pub measure: Measure,
    /// The commands, one after the other; empty where there is none for it.
    pub commands: Vec<String>,
    /// What it does to the interval of communication that is reported; `None` where it would give another figure instead.
    pub narrows: Option<Narrowing>,
    /// What it takes, minutes: a server's start is taken for 5, on a simulated machine for a few seconds.
    pub minutes: Option<f64>,
}

/// What can be measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Measure {
    /// The model at 1/N width on one GPU.
    Shard,
    /// Time to first token, without a prefix cache.
    FirstToken,
    /// Gaps between tokens.
    TokenGaps,
    /// Five starts of each server.
    Repeats,
    /// A trace of decode steps.
    Trace,
    /// Whether the step follows the link.
    Ablation,
    /// The collectives at the plan's sizes.
    Curve,
    /// The collectives with work between the calls.
    InterleavedCurve,
    /// Whether the GPUs reach each other's memory.
    Peers,
}

/// What a measurement does to the interval of communication that is reported.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Narrowing {
    /// The share of the variance that goes, 0 to 1.
    pub share: f64,
    /// From 5% to 95% now, ms.
    pub now_ms: f64,
    /// And after it, ms.
    pub after_ms: f64,
}
