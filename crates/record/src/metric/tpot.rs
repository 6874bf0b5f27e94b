//! Time per output token after the first.

use super::Metric;
use crate::ServeRequest;

/// The definition.
/// Source: vLLM benchmarks/serve.py: (latency - ttft) / (output_len - 1), its latency ending at the last chunk with choices.
pub const METRIC: Metric = Metric {
    name: "TPOT",
    unit: "ms",
    formula: "(last chunk that carries tokens - first one) / (output tokens - 1), one value a request",
};

/// The time per output token, ms; `None` below two tokens, where nobody counted them, or where one chunk brought all.
///
/// The last token's instant is that of the last chunk that carries tokens: what follows it (usage, the end mark, closing)
/// is no token's time.
#[must_use]
pub fn of(request: &ServeRequest) -> Option<f64> {
    let tokens = request.output_tokens.filter(|tokens| *tokens > 1)?;
    let [first, .., last] = request.token_chunks_ms[..] else {
        return None;
    };
    Some((last - first) / f64::from(tokens - 1))
}
