//! Time to first token.

use super::Metric;
use crate::ServeRequest;

/// The definition.
/// Source: vLLM benchmarks/lib/endpoint_request_func.py (0.33), where a chunk with the role alone does not count either.
pub const METRIC: Metric = Metric {
    name: "TTFT",
    unit: "ms",
    formula: "first chunk that carries tokens - sent",
};

/// The time to first token, ms; `None` where the reply was not streamed or brought no token.
#[must_use]
pub fn of(request: &ServeRequest) -> Option<f64> {
    let first = request.token_chunks_ms.first()?;
    Some(first - request.sent_ms)
}
