//! Lengths of prompts and replies in tokens.

use super::Metric;
use crate::ServeRequest;

/// The definition of prompt lengths.
/// Source: usage.prompt_tokens of the OpenAI interface; lengths that were asked for stand with the load.
pub const INPUT: Metric = Metric {
    name: "Input length",
    unit: "tokens",
    formula: "prompt tokens by the server's count, one value a completed request",
};

/// The definition of reply lengths.
/// Source: usage.completion_tokens of the OpenAI interface, else token ids, else chunks.
pub const OUTPUT: Metric = Metric {
    name: "Output length",
    unit: "tokens",
    formula: "output tokens, one value a completed request",
};

/// Prompt tokens; `None` where the server did not say.
#[must_use]
pub fn input(request: &ServeRequest) -> Option<f64> {
    request.input_tokens.map(f64::from)
}

/// Output tokens; `None` where nobody counted.
#[must_use]
pub fn output(request: &ServeRequest) -> Option<f64> {
    request.output_tokens.map(f64::from)
}
