//! Little's law: requests in flight as throughput times latency say, to be compared with what was seen.

/// The number that throughput, in requests per second, and mean latency, in ms, call for.
#[must_use]
pub fn of(requests_per_s: f64, mean_e2el_ms: f64) -> f64 {
    requests_per_s * mean_e2el_ms / 1e3
}
