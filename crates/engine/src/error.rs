//! What an engine refuses: a setup that cannot run, and a request that can never be served.

use record::{CollectiveKind, CollectivePath};
use thiserror::Error;

/// Why an engine cannot run.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum EngineError {
    /// The box has fewer GPUs than ranks.
    #[error(
        "box {name} has {devices} devices and {ranks} ranks were asked for; lower the tensor parallel size or name another box"
    )]
    TooFewDevices {
        /// The box.
        name: String,
        /// Its devices.
        devices: usize,
        /// The ranks that were asked for.
        ranks: u32,
    },
    /// Weights and one key-value block are more than the memory that the engine may use.
    #[error(
        "{model} has {weight_gb:.1} GB of weights and {ranks} x {usable_gb:.1} GB may be used; raise the tensor parallel size or name another box"
    )]
    DoesNotFit {
        /// The model.
        model: String,
        /// Its weights, decimal GB.
        weight_gb: f64,
        /// The ranks.
        ranks: u32,
        /// Memory of one rank that the engine may use, decimal GB.
        usable_gb: f64,
    },
    /// No time is known for a collective of the plan.
    #[error(
        "the box has no time for {kind} on {ranks} ranks by the {path} path; add a [[collective]] table or plant the time in the profile"
    )]
    NoCurve {
        /// The operation.
        kind: CollectiveKind,
        /// Who does it.
        path: CollectivePath,
        /// The ranks.
        ranks: u32,
    },
    /// A profile's figure is missing, unknown or out of range.
    #[error("{origin}: {reason}")]
    Profile {
        /// The file, or what else the figure came from.
        origin: String,
        /// What is wrong, with the key.
        reason: String,
    },
    /// The limits contradict each other.
    #[error("{0}")]
    Limits(String),
}

/// Why a request was refused at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Refused {
    /// There is nothing to prefill.
    #[error("the prompt holds no token")]
    EmptyPrompt,
    /// There is nothing to generate.
    #[error("at least one output token must be asked for")]
    NoOutput,
    /// Prompt and output exceed the longest sequence.
    #[error(
        "{prompt} prompt tokens and {output} output tokens exceed the longest sequence of {limit} tokens"
    )]
    TooLong {
        /// Prompt tokens.
        prompt: u32,
        /// Output tokens asked for.
        output: u32,
        /// Longest sequence, tokens.
        limit: u32,
    },
    /// The whole key-value cache is too small for it.
    #[error("{needed} key-value blocks are needed and the engine has {blocks}")]
    NeverFits {
        /// Blocks of the whole sequence.
        needed: u64,
        /// Blocks of the engine.
        blocks: u64,
    },
    /// A request of this number is waiting or running.
    #[error("request {0} is already known")]
    Duplicate(u64),
}
