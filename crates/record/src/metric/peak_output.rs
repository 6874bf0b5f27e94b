//! Peak output: the most tokens within any one second.

use super::{Metric, tokens_of_chunks};
use crate::ServeRequest;

/// Length of the window, ms.
pub(crate) const WINDOW_MS: f64 = 1000.0;

/// The definition.
/// Source: vLLM benchmarks/serve.py has it with fixed windows and counts chunks, so that speculative decoding lowers it.
pub const METRIC: Metric = Metric {
    name: "Peak output token throughput",
    unit: "tok/s",
    formula: "most tokens of completed requests in any window of 1 s that slides; a chunk counts with its tokens, where these are not known with an equal share of its reply's",
};

/// The most tokens within one second, failed requests left out; `None` where a completed one has no chunks or no count.
#[must_use]
#[expect(
    clippy::cast_precision_loss,
    reason = "chunks of a reply are far below 2^53"
)]
pub fn of(requests: &[ServeRequest]) -> Option<f64> {
    let mut arrivals: Vec<(f64, f64)> = Vec::new();
    for request in requests.iter().filter(|request| request.error.is_none()) {
        let chunks = &request.token_chunks_ms;
        let all = f64::from(request.output_tokens?);
        if chunks.is_empty() {
            return None;
        }
        let weights: Vec<f64> = match tokens_of_chunks(request) {
            Some(tokens) => tokens.into_iter().map(f64::from).collect(),
            None => vec![all / chunks.len() as f64; chunks.len()],
        };
        arrivals.extend(chunks.iter().copied().zip(weights));
    }
    arrivals.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (mut oldest, mut within, mut most) = (0, 0.0, None);
    for &(at, tokens) in &arrivals {
        within += tokens;
        // The window ends with this arrival and does not hold what came a whole second before.
        while arrivals[oldest].0 <= at - WINDOW_MS {
            within -= arrivals[oldest].1;
            oldest += 1;
        }
        most = Some(most.map_or(within, |most: f64| most.max(within)));
    }
    most
}
