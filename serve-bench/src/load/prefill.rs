//! Whether prompts were computed: a server that keeps their beginnings answers sooner, and measures its cache.

use explain::Peak;
use record::{CacheEvidence, Serve, ServeFinding, ServeRequest};
use tp_plan::ModelFacts;

/// A part of the prompt tokens above which they are a finding.
const CACHED: f64 = 0.1;

/// FLOP/s of the fastest GPU that is known: dense FP4 of NVIDIA B300 (its data sheet). It stands for a GPU that is not known.
const FASTEST: f64 = 15e15;

/// GPUs where nobody said how many there are.
const MOST_GPUS: u32 = 8;

/// The finding, by what the replies say (`by_usage`), else by the server's counters, else by what its GPUs can.
pub(super) fn cached(
    serve: &Serve,
    by_usage: Option<u64>,
    expected: bool,
    simulated: bool,
) -> Option<ServeFinding> {
    let inputs = serve.requests.iter().filter_map(|one| one.input_tokens);
    let of: u64 = inputs.map(u64::from).sum();
    let by_peak = || (!simulated).then(|| by_peak(serve)).flatten();
    let all = [
        (by_usage, CacheEvidence::Usage),
        (by_counters(serve, of), CacheEvidence::Counters),
        (by_peak(), CacheEvidence::Peak),
    ];
    let is_much = |cached: u64| cached as f64 > of as f64 * CACHED;
    let found = all
        .into_iter()
        .find_map(|(cached, by)| Some((cached.filter(|cached| is_much(*cached))?, by)));
    found.map(|(cached, by)| ServeFinding::PrefixCacheHits {
        cached,
        of,
        by,
        expected,
    })
}

/// The part of what the server counts, of the prompt tokens here: others may use it, too.
fn by_counters(serve: &Serve, of: u64) -> Option<u64> {
    let counters = serve.server.as_ref()?.counters.as_ref()?;
    let change = counters.change.as_ref().filter(|_| !counters.fell())?;
    let (cached, prompts) = (change.cached_tokens?, change.prompt_tokens?);
    // llama.cpp counts apart what it computes.
    let all = prompts.max(cached);
    (all > 0.0).then(|| (of as f64 * (cached / all).min(1.0)).round() as u64)
}

/// Tokens of prompts beyond what the GPUs can work on from sending to the first token, each request with all of them for itself.
fn by_peak(serve: &Serve) -> Option<u64> {
    let target = serve.target.as_ref()?;
    let model = ModelFacts::resolve(&target.model).ok()?;
    let seen = serve.server.as_ref().and_then(|one| one.machine.as_ref());
    let names = seen.iter().flat_map(|seen| &seen.header.devices);
    let known = names.filter_map(|device| Peak::of(&device.name));
    let known = known.map(|peak| peak.fp8_tflops.unwrap_or(peak.bf16_tflops) * 1e12);
    let rate = known.reduce(f64::max).unwrap_or(FASTEST);
    let gpus = f64::from(target.tp.unwrap_or(MOST_GPUS));
    // Two operations for each parameter and token; attention is beside.
    let tokens_per_s = rate * gpus / (2.0 * model.active_parameters());
    let beyond = |request: &ServeRequest| {
        let first = *request.token_chunks_ms.first()?;
        let seconds = (first - request.sent_ms).max(0.0) / 1e3;
        let tokens = f64::from(request.input_tokens?);
        (request.error.is_none()).then(|| (tokens - tokens_per_s * seconds).max(0.0))
    };
    let beyond: f64 = serve.requests.iter().filter_map(beyond).sum();
    Some(beyond.round() as u64)
}

#[cfg(test)]
mod tests {
    use record::{ServeServer, ServeTarget, ServerChange, ServerCounters};

    use super::*;

    /// Ten prompts of 30000 tokens of a model of 70.6e9 parameters, each with this TTFT.
    fn serve(ttft_ms: f64) -> Serve {
        let request = |id: u32| ServeRequest {
            id,
            sent_ms: 10.0,
            token_chunks_ms: vec![10.0 + ttft_ms],
            input_tokens: Some(30_000),
            ..ServeRequest::default()
        };
        Serve {
            target: Some(ServeTarget {
                model: "llama-3.3-70b".to_owned(),
                tp: Some(2),
                ..ServeTarget::default()
            }),
            requests: (0..10).map(request).collect(),
            ..Serve::default()
        }
    }

    fn found(serve: &Serve, usage: Option<u64>) -> Option<(u64, CacheEvidence)> {
        match cached(serve, usage, false, false)? {
            ServeFinding::PrefixCacheHits { cached, by, .. } => Some((cached, by)),
            _ => None,
        }
    }

    #[test]
    fn what_no_gpu_can_compute_came_from_a_cache() {
        // 2 x 15e15 / (2 x 70.55e9) = 212600 tokens/s: 141 ms for 30000.
        assert_eq!(found(&serve(200.0), None), None);
        // In 50 ms 10630 of 30000: ten times 19370 came from elsewhere.
        let (cached, by) = found(&serve(50.0), None).unwrap();
        assert_eq!(by, CacheEvidence::Peak);
        assert!((cached as f64 / 193_700.0 - 1.0).abs() < 0.01, "{cached}");
        // An engine in virtual time is as fast as it likes.
        assert_eq!(super::cached(&serve(50.0), None, false, true), None);
    }

    #[test]
    fn counters_tell_where_replies_do_not() {
        let mut serve = serve(200.0);
        serve.server = Some(ServeServer {
            counters: Some(ServerCounters {
                change: Some(ServerChange {
                    prompt_tokens: Some(320_000.0),
                    cached_tokens: Some(160_000.0),
                    ..ServerChange::default()
                }),
                ..ServerCounters::default()
            }),
            ..ServeServer::default()
        });
        // Half of 300000.
        let expected = Some((150_000, CacheEvidence::Counters));
        assert_eq!(found(&serve, None), expected);
        assert_eq!(found(&serve, Some(0)), expected);
        assert_eq!(
            found(&serve, Some(200_000)),
            Some((200_000, CacheEvidence::Usage))
        );
    }
}
