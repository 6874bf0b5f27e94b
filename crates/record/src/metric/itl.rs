//! Inter-token latency: gaps between chunks.

use super::Metric;
use crate::ServeRequest;

/// The definition.
/// Source: vLLM benchmarks/lib/endpoint_request_func.py.
pub const METRIC: Metric = Metric {
    name: "ITL",
    unit: "ms",
    formula: "gap between successive chunks that carry tokens, all requests pooled; a chunk may carry several tokens",
};

/// The gaps of a request, ms; empty where the reply was not streamed or came in one chunk.
#[must_use]
pub fn of(request: &ServeRequest) -> Vec<f64> {
    let gap = |pair: &[f64]| pair[1] - pair[0];
    request.token_chunks_ms.windows(2).map(gap).collect()
}
