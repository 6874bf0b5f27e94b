//! Peak in flight: the most requests at any instant.

use super::Metric;
use crate::ServeRequest;

/// The definition.
/// Source: tplens; counting those that touch a second (vLLM 0.13 to 0.33) gives up to twice as many.
pub const METRIC: Metric = Metric {
    name: "Peak requests in flight",
    unit: "requests",
    formula: "most requests, failed ones too, that were sent and whose reply had not ended; one that ends leaves before one that is sent at that instant",
};

/// The most at any instant; `None` without requests.
#[must_use]
pub fn of(requests: &[ServeRequest]) -> Option<u32> {
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
