//! Mean requests in flight, from what was seen.

use super::Metric;
use crate::ServeRequest;

/// The definition.
/// Source: Little, A Proof for the Queuing Formula L = lambda W, 1961.
pub const METRIC: Metric = Metric {
    name: "Requests in flight",
    unit: "requests",
    formula: "sum over all requests, failed ones too, of (end of the reply - sent) / (last end - first send)",
};

/// The mean number in flight; the duration is in seconds and above zero.
#[must_use]
pub fn of(requests: &[ServeRequest], duration_s: f64) -> f64 {
    let held_ms = |request: &ServeRequest| request.ended_ms - request.sent_ms;
    requests.iter().map(held_ms).sum::<f64>() / (duration_s * 1e3)
}
