//! Completed requests per second.

use super::Metric;

/// The definition.
/// Source: vLLM benchmarks/serve.py; lead-in and tail are inside the duration.
pub const METRIC: Metric = Metric {
    name: "Request throughput",
    unit: "req/s",
    formula: "completed requests / (last end - first send)",
};

/// Requests per second; the duration is in seconds and above zero.
#[must_use]
pub fn of(completed: u32, duration_s: f64) -> f64 {
    f64::from(completed) / duration_s
}
