//! Output tokens per second.

use super::Metric;

/// The definition.
/// Source: vLLM benchmarks/serve.py; tokens of failed requests do not count.
pub const METRIC: Metric = Metric {
    name: "Output token throughput",
    unit: "tok/s",
    formula: "output tokens of completed requests / (last end - first send)",
};

/// Output tokens per second; the duration is in seconds and above zero.
#[must_use]
#[expect(
    clippy::cast_precision_loss,
    reason = "token counts are far below 2^53"
)]
pub fn of(output_tokens: u64, duration_s: f64) -> f64 {
    output_tokens as f64 / duration_s
}
