//! Time to any chunk: when a reply begins, whatever its first chunk holds.

use super::Metric;
use crate::ServeRequest;

/// The definition.
/// Source: tplens; what clients that take a role chunk for a token call TTFT (vLLM 0.13 and vllm-rs 0.33, chat).
pub const METRIC: Metric = Metric {
    name: "Time to any chunk",
    unit: "ms",
    formula: "first bytes of a streamed reply's body - sent, also where they hold a role, a comment or progress and no token",
};

/// The time to the first chunk, ms; `None` where the reply was not streamed or nothing came.
#[must_use]
pub fn of(request: &ServeRequest) -> Option<f64> {
    Some(request.first_chunk_ms? - request.sent_ms)
}
