//! What engines are asked beside requests: their protocol, what a bootstrap server calls its engine, and their counters of times.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use disagg::{Body, Dialect, by_name};
use hyper::header::HeaderMap;
use serde::{Deserialize, Serialize};

use super::peer::{Failure, Peer, Whole, kept, question};
use super::router::Router;
use crate::beside::names::samples;

/// How long a question may take.
const PATIENCE: Duration = Duration::from_secs(5);

/// Histograms whose sums and counts are kept, as vLLM 0.33 and SGLang 0.5 call them, and milliseconds of their unit.
pub(super) const QUEUE: [(&str, f64); 1] = [("vllm:request_queue_time_seconds", 1e3)];
pub(super) const PREFILL: [(&str, f64); 1] = [("vllm:request_prefill_time_seconds", 1e3)];
pub(super) const LINK: [(&str, f64); 3] = [
    ("vllm:nixl_xfer_time_seconds", 1e3),
    ("vllm:mooncake_xfer_time_seconds", 1e3),
    ("sglang:kv_transfer_latency_ms", 1.0),
];

/// The protocol; asked of the first prefill engine that answers, and kept.
pub(super) async fn dialect(router: &Router) -> Result<&'static Dialect, Failure> {
    let found = router.dialect.get_or_try_init(|| async {
        for peer in &router.prefills {
            // vLLM has no such path. SGLang tells its mode there (http_server.py).
            let told = match get(router, peer, "/server_info").await {
                Ok(reply) => Body::read(reply.body())
                    .ok()
                    .and_then(|told| told.string("disaggregation_mode")),
                Err(Failure::Answered(_)) => None,
                Err(_) => continue,
            };
            let name = match told.as_deref() {
                Some("prefill") => "sglang",
                _ if engine_id(peer).await.is_some() => "mooncake",
                _ => "nixl",
            };
            program::say!("protocol of the engines: {name}");
            return by_name(name).ok_or(Failure::Broke);
        }
        Err(Failure::Refused)
    });
    found.await.copied()
}

/// What Mooncake's bootstrap server calls the engine at data-parallel rank 0, and keeps it.
pub(super) async fn engine_id(peer: &Arc<Peer>) -> Option<String> {
    let bootstrap = peer.bootstrap();
    if bootstrap.engine_id.is_some() {
        return bootstrap.engine_id;
    }
    let url = match bootstrap.host.contains(':') {
        true => format!("http://[{}]:{}", bootstrap.host, bootstrap.port),
        false => format!("http://{}:{}", bootstrap.host, bootstrap.port),
    };
    let server = Arc::new(Peer::parse("", &url, |_| Err(String::new())).ok()?);
    let exchange = server.open().await.ok()?;
    let request = question(&server, "/query", HeaderMap::new());
    let reply = exchange.whole(request, PATIENCE).await.ok()?;
    let told = Body::read(reply.body()).ok()?;
    let id = Body::read(told.raw("0")?.as_bytes())
        .ok()?
        .string("engine_id")?;
    peer.set_engine_id(Some(id.clone()));
    Some(id)
}

/// An engine's answer to a question.
pub(super) async fn get(router: &Router, peer: &Arc<Peer>, path: &str) -> Result<Whole, Failure> {
    let exchange = peer.open().await?;
    let headers = kept(&HeaderMap::new(), router.key.as_ref());
    exchange
        .whole(question(peer, path, headers), PATIENCE)
        .await
}

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
pub(super) async fn write_counters(router: &Router, is_end: bool) {
    if !router.journal.is_kept() {
        return;
    }
    for (peers, is_prefill) in [(&router.prefills, true), (&router.decodes, false)] {
        for peer in peers {
            let Ok(reply) = get(router, peer, "/metrics").await else {
                continue;
            };
            let simulated = reply.headers().get("x-tplens-soft-box");
            let simulated = simulated.and_then(|name| name.to_str().ok());
            router.journal.write(&Counters {
                schema: 1,
                engine: peer.name.clone(),
                is_prefill,
                is_end,
                simulated: simulated.map(str::to_owned),
                values: values(&String::from_utf8_lossy(reply.body())),
            });
        }
    }
}

/// Sums and counts of the histograms that are kept, in the Prometheus text format.
fn values(text: &str) -> BTreeMap<String, f64> {
    let mut values = BTreeMap::new();
    for (name, value) in samples(text) {
        let sum = name.strip_suffix("_sum");
        let stem = sum.or_else(|| name.strip_suffix("_count"));
        let mut kept = [&QUEUE[..], &PREFILL, &LINK].into_iter().flatten();
        if stem.is_some_and(|stem| kept.any(|(name, _)| *name == stem)) {
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
