//! Queue time: how long a request waited in the client.

use super::Metric;
use crate::ServeRequest;

/// The definition.
/// Source: vLLM benchmarks/serve.py (0.33): client_queue_time.
pub const METRIC: Metric = Metric {
    name: "Queue time",
    unit: "ms",
    formula: "sent - the instant that the schedule wanted; in an open loop only",
};

/// The wait, ms; `None` where no schedule wanted an instant.
#[must_use]
pub fn of(request: &ServeRequest) -> Option<f64> {
    Some(request.sent_ms - request.intended_ms?)
}
