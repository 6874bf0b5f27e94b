//! What a prediction starts from.

use crate::inputs::Inputs;

/// The library or engine of collective times that a box file states.
pub const DESCRIBED: &str = "described";

/// What a prediction starts from.
#[derive(Debug, Clone)]
pub struct PredictInputs {
    /// Model, engines of every size, collective times, box and priors. Its serving results are of one GPU, where the model was
    /// served on one; `tp` is not read.
    pub base: Inputs,
    /// Tensor parallel sizes that are asked about.
    pub sizes: Vec<u32>,
    /// Sequences that decode at once.
    pub batch: u32,
    /// Prompt tokens of a request.
    pub input_tokens: f64,
    /// Output tokens of a request.
    pub output_tokens: f64,
    /// The slowest link between the GPUs, where it is known and there is no curve.
    pub link: Option<Link>,
}

/// A link between GPUs.
#[derive(Debug, Clone, PartialEq)]
pub struct Link {
    /// GB/s one way.
    pub gbps: f64,
    /// Whether it is NVLink or another fabric of the GPUs' own; else it is PCIe.
    pub fabric: bool,
    /// Where the rate comes from.
    pub source: String,
}
