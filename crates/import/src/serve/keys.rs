//! The keys that are read, and no others: those of the clients' files, and the labels of what they print.
//!
//! vLLM: benchmarks/serve.py 0.13 and 0.33, benchmark_serving.py before 0.10; SGLang: bench_serving.py 0.5; evalscope:
//! perf/http_client.py 0.5.5, perf/utils/perf_constants.py 1.14.1; the rest are those of flat JSON of one's own.

use super::latency::{Latency, Statistic};

/// A number that a file may have; times in ms.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Field {
    Completed,
    Failed,
    Sent,
    Asked,
    Concurrency,
    RequestRate,
    RequestsPerS,
    Duration,
    Input,
    Output,
    InputEach,
    OutputEach,
    InputPerS,
    OutputPerS,
    TotalPerS,
    PeakInFlight,
    InputAsked,
    OutputAsked,
    MaxTokens,
    RangeRatio,
    Retokenized,
    ChunksEach,
    Seed,
    Tp,
    Time(Latency, Statistic),
}

use Field as F;

const MEAN: Statistic = Statistic::Mean;
const MEDIAN: Statistic = Statistic::MEDIAN;
const MIN: Statistic = Statistic::Min;
const MAX: Statistic = Statistic::Max;
const S: f64 = 1e3;

/// Key, what it means, and by what its value is multiplied; nested keys with a point between; upper case does not matter.
#[rustfmt::skip]
const KEYS: [(&str, Field, f64); 103] = [
    ("completed", F::Completed, 1.0), ("ok", F::Completed, 1.0), ("successful requests", F::Completed, 1.0),
    ("succeed requests", F::Completed, 1.0), ("success requests", F::Completed, 1.0),
    ("failed", F::Failed, 1.0), ("errors", F::Failed, 1.0), ("failed requests", F::Failed, 1.0),
    ("num_requests", F::Sent, 1.0), ("requests", F::Sent, 1.0), ("total requests", F::Sent, 1.0), ("num_prompts", F::Sent, 1.0),
    ("expected number of requests", F::Asked, 1.0),
    ("concurrency", F::Concurrency, 1.0), ("max_concurrency", F::Concurrency, 1.0), ("number of concurrency", F::Concurrency, 1.0),
    ("max request concurrency", F::Concurrency, 1.0), ("maximum request concurrency", F::Concurrency, 1.0),
    ("request_rate", F::RequestRate, 1.0), ("traffic request rate", F::RequestRate, 1.0),
    ("request rate configured (rps)", F::RequestRate, 1.0), ("request rate (req/s)", F::RequestRate, 1.0),
    ("requests_per_s", F::RequestsPerS, 1.0), ("requests_per_second", F::RequestsPerS, 1.0), ("qps", F::RequestsPerS, 1.0),
    ("request_throughput", F::RequestsPerS, 1.0), ("request throughput (req/s)", F::RequestsPerS, 1.0),
    ("req throughput (req/s)", F::RequestsPerS, 1.0), ("average qps", F::RequestsPerS, 1.0),
    ("duration", F::Duration, S), ("duration_s", F::Duration, S), ("total_time_s", F::Duration, S),
    ("benchmark duration (s)", F::Duration, S), ("time taken for tests (s)", F::Duration, S), ("time taken for tests", F::Duration, S),
    ("test duration (s)", F::Duration, S),
    ("total_input_tokens", F::Input, 1.0), ("total input tokens", F::Input, 1.0),
    ("total_output_tokens", F::Output, 1.0), ("total generated tokens", F::Output, 1.0),
    ("prompt_tokens_each", F::InputEach, 1.0), ("token_usage.prompt_tokens_mean", F::InputEach, 1.0),
    ("average input tokens per request", F::InputEach, 1.0), ("avg input tokens", F::InputEach, 1.0),
    ("output_tokens_each", F::OutputEach, 1.0), ("token_usage.completion_tokens_mean", F::OutputEach, 1.0),
    ("average output tokens per request", F::OutputEach, 1.0), ("avg output tokens", F::OutputEach, 1.0),
    ("prompt_tokens_per_s", F::InputPerS, 1.0), ("prompt_tokens_per_second", F::InputPerS, 1.0), ("derived.prompt_tps", F::InputPerS, 1.0),
    ("input_throughput", F::InputPerS, 1.0), ("input token throughput (tok/s)", F::InputPerS, 1.0),
    ("output_tokens_per_s", F::OutputPerS, 1.0), ("output_tokens_per_second", F::OutputPerS, 1.0), ("derived.decode_tps", F::OutputPerS, 1.0),
    ("output_throughput", F::OutputPerS, 1.0), ("output token throughput (tok/s)", F::OutputPerS, 1.0),
    ("output throughput (tok/s)", F::OutputPerS, 1.0), ("throughput(average output tokens per second)", F::OutputPerS, 1.0),
    ("throughput(average tokens/s)", F::OutputPerS, 1.0),
    ("total_token_throughput", F::TotalPerS, 1.0), ("total_throughput", F::TotalPerS, 1.0), ("total throughput (tok/s)", F::TotalPerS, 1.0),
    ("total token throughput (tok/s)", F::TotalPerS, 1.0),
    ("max_concurrent_requests", F::PeakInFlight, 1.0), ("peak concurrent requests", F::PeakInFlight, 1.0),
    ("random_input_len", F::InputAsked, 1.0), ("random_output_len", F::OutputAsked, 1.0), ("max_tokens", F::MaxTokens, 1.0),
    ("random_range_ratio", F::RangeRatio, 1.0),
    ("total_output_tokens_retokenized", F::Retokenized, 1.0), ("total generated tokens (retokenized)", F::Retokenized, 1.0),
    ("average package per request", F::ChunksEach, 1.0),
    ("seed", F::Seed, 1.0),
    ("tp", F::Tp, 1.0), ("tensor_parallel_size", F::Tp, 1.0), ("tp_size", F::Tp, 1.0), ("server_info.tp_size", F::Tp, 1.0),
    ("latency_mean_s", F::Time(Latency::E2el, MEAN), S), ("latency_s.mean", F::Time(Latency::E2el, MEAN), S),
    ("average latency (s)", F::Time(Latency::E2el, MEAN), S), ("average latency", F::Time(Latency::E2el, MEAN), S),
    ("avg latency (s)", F::Time(Latency::E2el, MEAN), S),
    ("latency_p50_s", F::Time(Latency::E2el, MEDIAN), S), ("latency_min_s", F::Time(Latency::E2el, MIN), S),
    ("latency_s.min", F::Time(Latency::E2el, MIN), S), ("latency_max_s", F::Time(Latency::E2el, MAX), S),
    ("latency_s.max", F::Time(Latency::E2el, MAX), S),
    ("ttft_mean_s", F::Time(Latency::Ttft, MEAN), S), ("ttft_s.mean", F::Time(Latency::Ttft, MEAN), S),
    ("average time to first token (s)", F::Time(Latency::Ttft, MEAN), S), ("average time to first token", F::Time(Latency::Ttft, MEAN), S),
    ("avg ttft (ms)", F::Time(Latency::Ttft, MEAN), 1.0), ("avg ttft (s)", F::Time(Latency::Ttft, MEAN), S),
    ("average time per output token (s)", F::Time(Latency::Tpot, MEAN), S), ("average time per output token", F::Time(Latency::Tpot, MEAN), S),
    ("avg tpot (ms)", F::Time(Latency::Tpot, MEAN), 1.0), ("avg tpot (s)", F::Time(Latency::Tpot, MEAN), S),
    ("ms_per_output_token", F::Time(Latency::Tpot, MEAN), 1.0), ("derived.ms_per_output_token", F::Time(Latency::Tpot, MEAN), 1.0),
    ("average inter-token latency (s)", F::Time(Latency::Itl, MEAN), S), ("avg itl (ms)", F::Time(Latency::Itl, MEAN), 1.0),
];

/// Lists with an entry for each request that was sent.
#[rustfmt::skip]
pub(super) const LISTS: [&str; 8] = [
    "ttfts", "itls", "output_lens", "input_lens", "errors", "latencies", "start_times", "queue_times",
];

/// Metrics by their names within keys and labels.
#[rustfmt::skip]
const METRICS: [(&str, Latency); 9] = [
    ("ttft", Latency::Ttft), ("tpot", Latency::Tpot), ("itl", Latency::Itl), ("e2el", Latency::E2el),
    ("e2e_latency", Latency::E2el), ("e2e latency", Latency::E2el), ("latency", Latency::E2el),
    ("time to first token", Latency::Ttft), ("request latency", Latency::E2el),
];

/// What a key means, and by what its value is multiplied: a row of the table, or a statistic of a metric, such as `p99_ttft_ms`,
/// `P95 ITL (ms)` or `latency_s.p95`.
pub(super) fn meaning(key: &str) -> Option<(Field, f64)> {
    let key = key.to_ascii_lowercase();
    let row = KEYS.iter().find(|(known, ..)| *known == key);
    row.map(|(_, field, scale)| (*field, *scale))
        .or_else(|| statistic(&key))
}

fn statistic(key: &str) -> Option<(Field, f64)> {
    let units = [("_ms", 1.0), (" (ms)", 1.0), ("_s", S), (" (s)", S)];
    let in_unit = |text: &str| {
        units
            .iter()
            .find_map(|(unit, scale)| Some((text.strip_suffix(unit)?.to_owned(), *scale)))
    };
    let metric = |name: &str| {
        METRICS
            .iter()
            .find_map(|(known, of)| (*known == name).then_some(*of))
    };
    // `ttft_s.p95`, `p95_ttft_ms` or `latency_p95_s`.
    if let Some((group, name)) = key.split_once('.')
        && let Some((group, scale)) = in_unit(group)
    {
        return Some((F::Time(metric(&group)?, Statistic::named(name)?), scale));
    }
    let (name, scale) = in_unit(key)?;
    let split = |(a, b): (&str, &str)| Some((metric(b)?, Statistic::named(a)?));
    let found = name.split_once(['_', ' ']).and_then(split).or_else(|| {
        let (metric_name, statistic) = name.rsplit_once('_')?;
        Some((metric(metric_name)?, Statistic::named(statistic)?))
    });
    found.map(|(metric, statistic)| (F::Time(metric, statistic), scale))
}

/// The fields that a line of help names, with what they are.
#[rustfmt::skip]
const TOLD: [(&str, Field); 20] = [
    ("requests completed", F::Completed), ("requests failed", F::Failed), ("requests sent", F::Sent),
    ("requests in flight", F::Concurrency), ("requests per second", F::RequestsPerS), ("duration, s", F::Duration),
    ("prompt tokens of all requests", F::Input), ("prompt tokens of one request", F::InputEach),
    ("prompt tokens per second", F::InputPerS), ("output tokens of all requests", F::Output),
    ("output tokens of one request", F::OutputEach), ("output tokens per second", F::OutputPerS),
    ("output tokens asked for, each request", F::MaxTokens), ("tensor parallel size", F::Tp),
    ("mean latency", F::Time(Latency::E2el, MEAN)), ("median latency", F::Time(Latency::E2el, MEDIAN)),
    ("mean TTFT", F::Time(Latency::Ttft, MEAN)), ("mean TPOT", F::Time(Latency::Tpot, MEAN)),
    ("mean ITL", F::Time(Latency::Itl, MEAN)), ("prompt and output tokens per second", F::TotalPerS),
];

/// What a flat JSON may hold: for each number its meaning and the keys that name it. Statistics of times may also be named as vLLM
/// names them, such as `p99_ttft_ms`.
#[must_use]
pub fn accepted_keys() -> Vec<(&'static str, Vec<&'static str>)> {
    let of = |field: Field| {
        KEYS.iter()
            .filter(move |(_, known, _)| *known == field)
            .map(|(key, ..)| *key)
    };
    TOLD.iter()
        .map(|(meaning, field)| (*meaning, of(*field).collect()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_stand_once_and_statistics_are_read_by_their_parts() {
        let mut keys: Vec<&str> = KEYS.iter().map(|(key, ..)| *key).collect();
        keys.sort_unstable();
        keys.dedup();
        assert_eq!(keys.len(), KEYS.len());
        let time = |metric, statistic, scale| Some((F::Time(metric, statistic), scale));
        for (key, expected) in [
            (
                "P95 ITL (ms)",
                time(Latency::Itl, Statistic::Percentile(950), 1.0),
            ),
            ("Max ITL (ms)", time(Latency::Itl, MAX, 1.0)),
            (
                "p99.9_e2e_latency_ms",
                time(Latency::E2el, Statistic::Percentile(999), 1.0),
            ),
            ("Median E2E Latency (ms)", time(Latency::E2el, MEDIAN, 1.0)),
            (
                "latency_s.p95",
                time(Latency::E2el, Statistic::Percentile(950), S),
            ),
            (
                "latency_p95_s",
                time(Latency::E2el, Statistic::Percentile(950), S),
            ),
            ("ttft", None),
            ("mean_latency", None),
        ] {
            assert_eq!(meaning(key), expected, "{key}");
        }
    }
}
