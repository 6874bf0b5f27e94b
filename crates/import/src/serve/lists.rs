//! The lists of every request that vLLM's and SGLang's clients save (`--save-detailed`, `--output-details`), as requests.
//!
//! Of a failed request these clients keep its error and zeros, so that it is counted elsewhere and left out here. Times in the
//! lists are seconds, instants here are ms. Without `start_times` (vLLM before 0.33, SGLang) every request begins at zero.

use serde_json::{Map, Value};

use record::{ServeRequest, TokenCount, is_bounded};

/// Requests from lists.
#[derive(Debug, Default)]
pub(super) struct Lists {
    pub(super) requests: Vec<ServeRequest>,
    /// Whether all instants are of one clock.
    pub(super) clocked: bool,
}

/// What the file has of each successful request; nothing where it has no lists, or lists that do not fit together.
pub(super) fn of(map: &Map<String, Value>) -> Lists {
    detailed(map)
        .or_else(|| latencies(map))
        .filter(|lists| lists.requests.iter().all(is_bounded))
        .unwrap_or_default()
}

/// How many requests have an error in the list of errors; `None` without that list.
pub(super) fn failed(map: &Map<String, Value>) -> Option<u64> {
    let errors = map.get("errors")?.as_array()?;
    Some(errors.iter().filter(|error| is_error(error)).count() as u64)
}

fn is_error(error: &Value) -> bool {
    error.as_str().is_some_and(|text| !text.is_empty())
}

fn ms(value: &Value) -> Option<f64> {
    value.as_f64().map(|seconds| seconds * 1e3)
}

fn detailed(map: &Map<String, Value>) -> Option<Lists> {
    let list = |key: &str| map.get(key)?.as_array();
    let (ttfts, itls, tokens) = (list("ttfts")?, list("itls")?, list("output_lens")?);
    let n = ttfts.len();
    let fitting = |key: &str| list(key).filter(|list| list.len() == n);
    let errors = list("errors");
    let all = [Some(itls), Some(tokens), errors];
    if all.into_iter().flatten().any(|list| list.len() != n) {
        return None;
    }
    let starts: Option<Vec<f64>> =
        fitting("start_times").and_then(|starts| starts.iter().map(ms).collect());
    let first = starts.iter().flatten().copied().reduce(f64::min);
    let requests = (0..n)
        .filter(|index| errors.is_none_or(|errors| !is_error(&errors[*index])))
        .map(|index| {
            let at = |key: &str| ms(&fitting(key)?[index]);
            let sent_ms = starts
                .as_ref()
                .zip(first)
                .map_or(0.0, |(starts, first)| starts[index] - first);
            let gaps: Option<Vec<f64>> = itls[index].as_array()?.iter().map(ms).collect();
            let chunks = chunks(sent_ms, ms(&ttfts[index]), &gaps?);
            let latency = at("latencies").map(|latency| sent_ms + latency);
            let ended_ms = latency.into_iter().chain(chunks.last().copied());
            let lens = fitting("input_lens").map(|lens| &lens[index]);
            Some(ServeRequest {
                id: u32::try_from(index).ok()?,
                intended_ms: at("queue_times").map(|queue| sent_ms - queue),
                sent_ms,
                ended_ms: ended_ms.reduce(f64::max)?,
                token_chunks_ms: chunks,
                input_tokens: lens.and_then(whole),
                output_tokens: whole(&tokens[index]),
                counted_by: Some(TokenCount::Usage),
                ..ServeRequest::default()
            })
        })
        .collect::<Option<Vec<_>>>()?;
    Some(Lists {
        requests,
        clocked: first.is_some(),
    })
}

fn whole(value: &Value) -> Option<u32> {
    value.as_u64()?.try_into().ok()
}

/// When chunks came: the first, and one after each gap; none without a first.
fn chunks(sent_ms: f64, ttft: Option<f64>, gaps: &[f64]) -> Vec<f64> {
    let Some(first) = ttft.map(|ttft| sent_ms + ttft) else {
        return Vec::new();
    };
    let later = gaps.iter().scan(first, |at, gap| {
        *at += gap;
        Some(*at)
    });
    std::iter::once(first).chain(later).collect()
}

/// The latencies that vLLM 0.33 keeps without `--save-detailed`, zero for failed requests.
fn latencies(map: &Map<String, Value>) -> Option<Lists> {
    let list = map.get("latencies")?.as_array()?;
    let latencies = list.iter().filter_map(ms);
    let succeeded = latencies.filter(|latency| *latency > 0.0);
    let request = |ended_ms| ServeRequest {
        ended_ms,
        ..ServeRequest::default()
    };
    let requests = succeeded.map(request).collect();
    Some(Lists {
        requests,
        clocked: false,
    })
}
