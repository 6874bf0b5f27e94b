//! Inter-token latency per token: gaps between chunks, shared among the tokens of a chunk.

use super::{Metric, tokens_of_chunks};
use crate::ServeRequest;

/// The definition.
/// Source: SGLang bench_serving.py shares a gap among the new tokens likewise; ITL is the gap per chunk.
pub const METRIC: Metric = Metric {
    name: "ITL per token",
    unit: "ms",
    formula: "gap between successive chunks / tokens in the later one, one value a token; where the tokens of each chunk are known",
};

/// One value a token after those of the first chunk, ms; empty where the tokens of chunks are not known.
#[must_use]
pub fn of(request: &ServeRequest) -> Vec<f64> {
    let Some(tokens) = tokens_of_chunks(request) else {
        return Vec::new();
    };
    let gaps = request.token_chunks_ms.windows(2).zip(&tokens[1..]);
    gaps.flat_map(|(pair, count)| {
        let share = (pair[1] - pair[0]) / f64::from(*count);
        std::iter::repeat_n(share, *count as usize)
    })
    .collect()
}
