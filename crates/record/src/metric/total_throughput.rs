//! Prompt and output tokens per second.

use super::Metric;

/// The definition.
/// Source: vLLM benchmarks/serve.py; prompt tokens from a cache count, too.
pub const METRIC: Metric = Metric {
    name: "Total token throughput",
    unit: "tok/s",
    formula: "(prompt + output tokens of completed requests) / (last end - first send)",
};

/// Tokens per second; the duration is in seconds and above zero.
#[must_use]
#[expect(
    clippy::cast_precision_loss,
    reason = "token counts are far below 2^53"
)]
pub fn of(input_tokens: u64, output_tokens: u64, duration_s: f64) -> f64 {
    (input_tokens + output_tokens) as f64 / duration_s
}
