//! Little's law: requests in flight as throughput times latency say, to be compared with what was seen.

use super::Metric;

/// The definition.
pub const METRIC: Metric = Metric {
    name: "Requests in flight by Little's law",
    title: "throughput times mean latency",
    unit: "requests",
    formula: "request throughput x mean E2EL",
    source: "Little, A Proof for the Queuing Formula L = lambda W, 1961",
};

/// The number that throughput, in requests per second, and mean latency, in ms, call for.
#[must_use]
pub fn of(requests_per_s: f64, mean_e2el_ms: f64) -> f64 {
    requests_per_s * mean_e2el_ms / 1e3
}
