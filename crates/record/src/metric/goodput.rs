//! Goodput: completed requests that kept every goal.

use super::{Metric, e2el, queue_time, tpot, ttft};
use crate::{Goals, ServeRequest};

/// The definition.
/// Source: vLLM benchmarks/serve.py (--goodput), after DistServe (Zhong et al., 2024); a reply of one token keeps any TPOT; vLLM counts from sending, which leaves the client's queue out.
pub const METRIC: Metric = Metric {
    name: "Request goodput",
    unit: "req/s",
    formula: "completed requests with TTFT, TPOT and E2EL at most as the goals say / (last end - first send); in an open loop TTFT and E2EL from the intended instant",
};

/// Whether a completed request kept every goal; `None` where it has no value that a goal asks for.
#[must_use]
pub fn keeps(request: &ServeRequest, goals: &Goals) -> Option<bool> {
    let within = |goal: Option<f64>, value: Option<f64>| match goal {
        None => Some(true),
        Some(goal) => value.map(|value| value <= goal),
    };
    let single = request.output_tokens == Some(1) && request.token_chunks_ms.len() <= 1;
    let per_token = tpot::of(request).or(single.then_some(0.0));
    let queue = queue_time::of(request).unwrap_or(0.0);
    Some(
        within(goals.ttft_ms, ttft::of(request).map(|ttft| ttft + queue))?
            & within(goals.tpot_ms, per_token)?
            & within(goals.e2el_ms, Some(e2el::of(request) + queue))?,
    )
}

/// Completed requests that kept every goal; `None` where one of them cannot be judged.
#[must_use]
pub fn good(requests: &[&ServeRequest], goals: &Goals) -> Option<u32> {
    requests
        .iter()
        .map(|request| keeps(request, goals).map(u32::from))
        .sum()
}
