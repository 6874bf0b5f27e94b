//! The collectives of engine steps as `tp-plan` worked them out.

use serde::{Deserialize, Serialize};

use super::operations::CollectiveKind;

/// One engine step and the collectives that it issues, as `tp-plan` worked them out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedStep {
    /// The model.
    pub model: String,
    /// The engine with its version and mode, in words.
    pub engine: String,
    /// Tensor parallel size.
    pub tp: u32,
    /// Sequences that decode in this step.
    pub batch: u32,
    /// The batch after padding to a captured graph's size.
    pub padded_batch: u32,
    /// Prompt tokens in the step's prefill chunk; `None` for a step of decoding only.
    pub prefill_tokens: Option<u32>,
    /// The collectives, in the order of the step.
    pub collectives: Vec<PlannedCollective>,
}

/// Collectives of one kind, size and path within a step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedCollective {
    /// The operation.
    pub kind: CollectiveKind,
    /// What it is for, such as `attention output`.
    pub role: String,
    /// How often the step issues it.
    pub count: u32,
    /// As [`super::CollectivePoint::bytes_per_rank`].
    pub bytes_per_rank: u64,
    /// Who does it.
    pub path: CollectivePath,
    /// The rule that decided the path.
    pub rule: String,
}

/// Who does a collective inside an engine.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, strum::Display,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "lowercase")]
pub enum CollectivePath {
    /// The vendor's library: NCCL, RCCL, MCCL.
    Library,
    /// The engine's own one-shot kernel over peer memory.
    Custom,
}
