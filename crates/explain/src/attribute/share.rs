//! How much of an interval a measurement would settle, and how much of it a prior makes.

use serde::{Deserialize, Serialize};

/// Something that could be measured next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Measurement {
    /// Collectives at the plan's sizes on this box.
    Curve,
    /// The model at half width on one GPU.
    HalfModel,
    /// A streamed run with the prefix cache known.
    FirstToken,
    /// The same runs again, each with a server started afresh.
    Repeats,
}

/// What a measurement would settle.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct VarianceShare {
    /// The measurement.
    pub measurement: Measurement,
    /// First-order share of the variance of the communication bar, 0 to 1; `None` where there is none.
    pub of_communication: Option<f64>,
    /// First-order share of the variance of the remainder, 0 to 1.
    pub of_remainder: f64,
}

/// How much of the intervals one prior makes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PriorShare {
    /// Its name.
    pub name: String,
    /// First-order share of the variance of communication as it is reported, 0 to 1; `None` where there is no bar of it.
    pub of_communication: Option<f64>,
    /// First-order share of the variance of the remainder, and so of the implied all-reduce, 0 to 1.
    pub of_remainder: f64,
}
