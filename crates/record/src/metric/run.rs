//! The metrics over all requests of a run; their definitions stand in the table.

use super::request::{keeps, tokens_of_chunks};
use crate::{Goals, ServeRequest};

/// Length of the window of [`peak_output`], ms.
pub(crate) const WINDOW_MS: f64 = 1000.0;

/// A count per second; the duration is in seconds and above zero.
#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
pub(crate) fn rate(count: u64, duration_s: f64) -> f64 {
    count as f64 / duration_s
}

/// Completed requests that kept every goal; `None` where one of them cannot be judged.
#[must_use]
pub fn good(requests: &[&ServeRequest], goals: &Goals) -> Option<u32> {
    requests
        .iter()
        .map(|request| keeps(request, goals).map(u32::from))
        .sum()
}

/// The mean number in flight; the duration is in seconds and above zero.
#[must_use]
pub fn in_flight(requests: &[ServeRequest], duration_s: f64) -> f64 {
    let held_ms = |request: &ServeRequest| request.ended_ms - request.sent_ms;
    requests.iter().map(held_ms).sum::<f64>() / (duration_s * 1e3)
}

/// The most in flight at any instant; `None` without requests.
#[must_use]
pub fn peak_in_flight(requests: &[ServeRequest]) -> Option<u32> {
    let mut changes: Vec<(f64, i64)> = requests
        .iter()
        .flat_map(|request| [(request.sent_ms, 1), (request.ended_ms, -1)])
        .collect();
    changes.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    let mut now = 0;
    let counts = changes.iter().map(|(_, change)| {
        now += change;
        now
    });
    counts.max().and_then(|most| u32::try_from(most).ok())
}

/// The most tokens within one second, failed requests left out; `None` where a completed one has no chunks or no count.
#[must_use]
#[expect(
    clippy::cast_precision_loss,
    reason = "chunks of a reply are far below 2^53"
)]
pub fn peak_output(requests: &[ServeRequest]) -> Option<f64> {
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
