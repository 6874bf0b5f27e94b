//! End-to-end latency from the instant that the schedule wanted: what a user who comes at that instant waits.

use super::{Metric, e2el, queue_time};
use crate::ServeRequest;

/// The definition.
/// Source: vLLM benchmarks/serve.py (0.33): e2el_including_client_queue; a client that leaves it out hides its queue (coordinated omission).
pub const METRIC: Metric = Metric {
    name: "E2EL from intended",
    unit: "ms",
    formula: "E2EL + queue time; in an open loop only",
};

/// The latency, ms; `None` where no schedule wanted an instant.
#[must_use]
pub fn of(request: &ServeRequest) -> Option<f64> {
    Some(queue_time::of(request)? + e2el::of(request))
}
