//! End-to-end latency.

use super::Metric;
use crate::ServeRequest;

/// The definition.
/// Source: vLLM benchmarks/lib/endpoint_request_func.py: latency; waiting for a free place in the client is not in it.
pub const METRIC: Metric = Metric {
    name: "E2EL",
    unit: "ms",
    formula: "last chunk that carries tokens - sent; end of the reply - sent where it was not streamed",
};

/// The end-to-end latency of a request, ms.
#[must_use]
pub fn of(request: &ServeRequest) -> f64 {
    request.token_chunks_ms.last().unwrap_or(&request.ended_ms) - request.sent_ms
}
