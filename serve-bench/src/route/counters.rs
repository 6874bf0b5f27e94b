//! Engines' own counters of times, read before the first and after the last request.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::detect;
use super::peer::Peer;
use super::router::Router;

/// Histograms whose sums and counts are kept, as vLLM 0.33 and SGLang 0.5 call them. SGLang's latency is in milliseconds.
const KEPT: [&str; 5] = [
    "vllm:request_queue_time_seconds",
    "vllm:request_prefill_time_seconds",
    "vllm:nixl_xfer_time_seconds",
    "vllm:mooncake_xfer_time_seconds",
    "sglang:kv_transfer_latency_ms",
];

/// One engine's counters at one time, a line of the journal.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Counters {
    /// Version of the line.
    pub(crate) schema: u32,
    /// `host:port`.
    pub(crate) engine: String,
    /// Whether it is asked for prompts.
    pub(crate) is_prefill: bool,
    /// Whether all requests have ended.
    pub(crate) is_end: bool,
    /// Whether the engine says that it is simulated.
    pub(crate) simulated: Option<String>,
    /// Sums and counts over all ranks, by name.
    pub(crate) values: BTreeMap<String, f64>,
}

/// Writes all engines' counters into the journal; those that cannot be read are left out.
pub(super) async fn write(router: &Router, is_end: bool) {
    for (peers, is_prefill) in [(&router.prefills, true), (&router.decodes, false)] {
        for peer in peers {
            if let Some(counters) = read(router, peer, is_prefill, is_end).await {
                router.journal.write(&counters);
            }
        }
    }
}

async fn read(
    router: &Router,
    peer: &Arc<Peer>,
    is_prefill: bool,
    is_end: bool,
) -> Option<Counters> {
    let reply = detect::get(router, peer, "/metrics").await.ok()?;
    let simulated = reply.headers.get("x-tplens-soft-box");
    let simulated = simulated
        .and_then(|name| name.to_str().ok())
        .map(str::to_owned);
    let text = std::str::from_utf8(&reply.body)
        .ok()
        .filter(|_| reply.status.is_success())?;
    Some(Counters {
        schema: 1,
        engine: peer.name.clone(),
        is_prefill,
        is_end,
        simulated,
        values: values(text),
    })
}

/// Sums and counts of the histograms that are kept, in the Prometheus text format.
fn values(text: &str) -> BTreeMap<String, f64> {
    let mut values = BTreeMap::new();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let name = line.split(['{', ' ']).next().unwrap_or_default();
        let stem = name
            .strip_suffix("_sum")
            .or_else(|| name.strip_suffix("_count"));
        let value = line
            .rsplit(' ')
            .next()
            .and_then(|value| value.parse::<f64>().ok());
        if let Some(value) = value.filter(|_| stem.is_some_and(|stem| KEPT.contains(&stem))) {
            *values.entry(name.to_owned()).or_insert(0.0) += value;
        }
    }
    values
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_and_counts_of_all_ranks_are_added() {
        let text = "# HELP x\nvllm:request_queue_time_seconds_sum{engine=\"0\"} 1.5\nvllm:request_queue_time_seconds_sum{engine=\"1\"} 2.0\nvllm:request_queue_time_seconds_count{engine=\"0\"} 3\nvllm:request_queue_time_seconds_bucket{le=\"1\"} 9\nother_sum 4\n";
        let found = values(text);
        assert_eq!(found.len(), 2);
        assert!((found["vllm:request_queue_time_seconds_sum"] - 3.5).abs() < 1e-12);
        assert!((found["vllm:request_queue_time_seconds_count"] - 3.0).abs() < 1e-12);
    }
}
