//! What clients call the numbers of a flat summary: one row for each number, to which another client's name is added.
//!
//! Those of evalscope are from its perf/http_client.py (0.5.5) and perf/utils/perf_constants.py (1.14.1).

/// Where the unit of a number stands.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// In its name: a count, or a rate per second.
    Plain,
    /// In its key, or seconds: it is checked against count and rate.
    Duration,
    /// In its key, or the file is refused: a latency in the wrong unit would go unseen.
    Latency,
}

/// A number that a summary may have, and what tools call it.
pub(super) struct Alias {
    pub(super) kind: Kind,
    /// Keys in lower case with `_` between words; the first is the one that messages name. A time's unit (`_s`, `_ms`) may
    /// stand anywhere in the key and is left out here.
    pub(super) keys: &'static [&'static str],
}

const fn alias(kind: Kind, keys: &'static [&'static str]) -> Alias {
    Alias { kind, keys }
}

pub(super) const REQUESTS_PER_S: Alias = alias(
    Kind::Plain,
    &[
        "requests_per_s",
        "requests_per_sec",
        "requests_per_second",
        "req_per_s",
        "req_per_sec",
        "req_s",
        "rps",
        "qps",
        "request_throughput",
        "request_throughput_req_s",
        "req_throughput_req_s",
        "throughput_req_s",
        "throughput_rps",
        "average_qps",
        "throughput",
    ],
);
pub(super) const INPUT_TOKENS_PER_S: Alias = alias(
    Kind::Plain,
    &[
        "prompt_tokens_per_s",
        "prompt_tokens_per_sec",
        "prompt_tokens_per_second",
        "prompt_tok_per_s",
        "prompt_tok_s",
        "input_tokens_per_s",
        "input_tokens_per_sec",
        "input_tokens_per_second",
        "input_tok_per_s",
        "input_throughput",
        "input_throughput_tok_s",
    ],
);
pub(super) const OUTPUT_TOKENS_PER_S: Alias = alias(
    Kind::Plain,
    &[
        "output_tokens_per_s",
        "output_tokens_per_sec",
        "output_tokens_per_second",
        "output_tok_per_s",
        "output_tok_s",
        "completion_tokens_per_s",
        "completion_tokens_per_sec",
        "completion_tokens_per_second",
        "generated_tokens_per_s",
        "output_throughput",
        "output_token_throughput_tok_s",
        "output_throughput_tok_s",
        "throughput_average_tokens_s",
        "throughput_average_output_tokens_per_second",
    ],
);
pub(super) const INPUT_TOKENS: Alias = alias(
    Kind::Plain,
    &[
        "total_input_tokens",
        "total_prompt_tokens",
        "prompt_tokens_total",
        "input_tokens_total",
    ],
);
/// The total or one request's: what the rate agrees with.
pub(super) const INPUT_TOKENS_EITHER: Alias =
    alias(Kind::Plain, &["input_tokens", "prompt_tokens"]);
pub(super) const INPUT_TOKENS_EACH: Alias = alias(
    Kind::Plain,
    &[
        "input_tokens_per_request",
        "prompt_tokens_per_request",
        "prompt_tokens_each",
        "input_tokens_each",
        "input_len",
        "avg_input_tokens",
        "mean_input_tokens",
        "average_input_tokens_per_request",
    ],
);
pub(super) const OUTPUT_TOKENS: Alias = alias(
    Kind::Plain,
    &[
        "total_output_tokens",
        "total_completion_tokens",
        "total_generated_tokens",
        "output_tokens_total",
        "completion_tokens_total",
    ],
);
/// The total or one request's: what the rate agrees with.
pub(super) const OUTPUT_TOKENS_EITHER: Alias =
    alias(Kind::Plain, &["output_tokens", "completion_tokens"]);
pub(super) const OUTPUT_TOKENS_EACH: Alias = alias(
    Kind::Plain,
    &[
        "output_tokens_per_request",
        "completion_tokens_per_request",
        "tokens_per_request",
        "output_tokens_each",
        "output_len",
        "mean_output_tokens",
        "avg_output_tokens",
        "average_output_tokens_per_request",
    ],
);
pub(super) const COMPLETED: Alias = alias(
    Kind::Plain,
    &[
        "completed",
        "completed_requests",
        "successful_requests",
        "succeeded_requests",
        "succeed_requests",
        "success_requests",
        "succeeded",
        "successes",
        "num_successful",
    ],
);
pub(super) const FAILED: Alias = alias(
    Kind::Plain,
    &["failed", "failed_requests", "num_failed", "failures"],
);
pub(super) const TOTAL: Alias = alias(
    Kind::Plain,
    &[
        "num_requests",
        "total_requests",
        "requests",
        "n_requests",
        "num_prompts",
    ],
);
pub(super) const CONCURRENCY: Alias = alias(
    Kind::Plain,
    &[
        "concurrency",
        "max_concurrency",
        "number_of_concurrency",
        "num_concurrent",
        "concurrent_requests",
        "parallel",
    ],
);
pub(super) const MAX_TOKENS: Alias = alias(
    Kind::Plain,
    &[
        "max_tokens",
        "max_new_tokens",
        "max_output_tokens",
        "max_completion_tokens",
    ],
);
/// Names of the model, which is a text.
pub(super) const MODEL: &[&str] = &["model", "model_id", "model_name"];
pub(super) const ENGINE: &[&str] = &["engine", "framework", "serving_engine"];
/// How a client asks, which may name an engine and is understood by others.
pub(super) const CLIENT: &[&str] = &["backend", "endpoint_type"];
pub(super) const VERSION: &[&str] = &[
    "engine_version",
    "vllm_version",
    "sglang_version",
    "server_version",
    "version",
];
pub(super) const HOST: &[&str] = &["host", "hostname", "node"];
pub(super) const GPU: &[&str] = &["gpu", "gpu_name", "gpu_model"];
pub(super) const QUANTISATION: &[&str] = &["quantization", "quantisation"];
pub(super) const DATASET: &[&str] = &["dataset_name", "dataset"];
pub(super) const SEED: &[&str] = &["seed", "random_seed"];
pub(super) const TP: Alias = alias(
    Kind::Plain,
    &["tp", "tensor_parallel_size", "tensor_parallel", "tp_size"],
);
pub(super) const DURATION: Alias = alias(
    Kind::Duration,
    &[
        "total_time",
        "duration",
        "total_duration",
        "benchmark_duration",
        "wall_time",
        "elapsed",
        "elapsed_time",
        "time_taken_for_tests",
        "test_duration",
    ],
);
pub(super) const MEAN: Alias = alias(
    Kind::Latency,
    &[
        "latency_mean",
        "mean_latency",
        "latency_avg",
        "avg_latency",
        "average_latency",
        "latency_average",
        "e2el_mean",
        "mean_e2el",
        "e2e_latency_mean",
    ],
);
pub(super) const MEDIAN: Alias = alias(
    Kind::Latency,
    &[
        "latency_p50",
        "p50_latency",
        "latency_median",
        "median_latency",
        "median_e2el",
    ],
);
pub(super) const MIN: Alias = alias(Kind::Latency, &["latency_min", "min_latency"]);
pub(super) const MAX: Alias = alias(Kind::Latency, &["latency_max", "max_latency"]);
pub(super) const P90: Alias = alias(Kind::Latency, &["latency_p90", "p90_latency", "p90_e2el"]);
pub(super) const P95: Alias = alias(Kind::Latency, &["latency_p95", "p95_latency", "p95_e2el"]);
pub(super) const P99: Alias = alias(Kind::Latency, &["latency_p99", "p99_latency", "p99_e2el"]);
/// Lists of one value for each request, and a total, which other figures must agree with.
pub(super) const LATENCIES: Alias = alias(
    Kind::Latency,
    &["latencies", "latency_list", "request_latencies"],
);
pub(super) const OUTPUT_LENGTHS: Alias = alias(
    Kind::Plain,
    &["output_lens", "output_lengths", "output_token_counts"],
);
pub(super) const INPUT_LENGTHS: Alias = alias(
    Kind::Plain,
    &[
        "input_lens",
        "input_lengths",
        "prompt_lens",
        "prompt_lengths",
        "prompt_token_counts",
    ],
);
pub(super) const TOTAL_TOKENS: Alias = alias(Kind::Plain, &["total_tokens"]);

/// Requests that were to be sent.
pub(super) const EXPECTED: Alias = alias(Kind::Plain, &["expected_number_of_requests"]);
pub(super) const TTFT: Alias = alias(
    Kind::Latency,
    &[
        "ttft",
        "avg_ttft",
        "mean_ttft",
        "ttft_mean",
        "average_time_to_first_token",
    ],
);
pub(super) const TPOT: Alias = alias(
    Kind::Latency,
    &[
        "tpot",
        "avg_tpot",
        "mean_tpot",
        "tpot_mean",
        "average_time_per_output_token",
        "time_per_output_token",
        "per_output_token",
    ],
);
pub(super) const ITL: Alias = alias(
    Kind::Latency,
    &[
        "itl",
        "avg_itl",
        "mean_itl",
        "itl_mean",
        "average_inter_token_latency",
    ],
);
/// Beside a mean, which prompts of others pull up: what a gap is where none starts.
pub(super) const ITL_MEDIAN: Alias = alias(
    Kind::Latency,
    &[
        "median_itl",
        "itl_median",
        "itl_p50",
        "p50_itl",
        "median_inter_token_latency",
    ],
);
pub(super) const TOTAL_TOKENS_PER_S: Alias = alias(
    Kind::Plain,
    &[
        "total_throughput_tok_s",
        "total_token_throughput_tok_s",
        "total_tokens_per_s",
    ],
);

/// Every number, with what it means, in the order in which a reader wants them.
const ACCEPTED: [(&str, &[&str]); 36] = [
    ("requests completed", COMPLETED.keys),
    ("requests failed", FAILED.keys),
    ("requests sent", TOTAL.keys),
    ("requests in flight", CONCURRENCY.keys),
    ("requests per second", REQUESTS_PER_S.keys),
    (
        "duration (with _s or _ms in the key, else seconds)",
        DURATION.keys,
    ),
    ("output tokens of all requests", OUTPUT_TOKENS.keys),
    ("output tokens of one request", OUTPUT_TOKENS_EACH.keys),
    (
        "output tokens of all requests or of one, whichever the rate agrees with",
        OUTPUT_TOKENS_EITHER.keys,
    ),
    ("output tokens per second", OUTPUT_TOKENS_PER_S.keys),
    ("output tokens asked for, each request", MAX_TOKENS.keys),
    ("input tokens of all requests", INPUT_TOKENS.keys),
    ("input tokens of one request", INPUT_TOKENS_EACH.keys),
    (
        "input tokens of all requests or of one, whichever the rate agrees with",
        INPUT_TOKENS_EITHER.keys,
    ),
    ("input tokens per second", INPUT_TOKENS_PER_S.keys),
    ("mean latency (with _s or _ms in the key)", MEAN.keys),
    ("median latency (with _s or _ms in the key)", MEDIAN.keys),
    ("least latency (with _s or _ms in the key)", MIN.keys),
    ("largest latency (with _s or _ms in the key)", MAX.keys),
    (
        "99th percentile of latency (with _s or _ms in the key)",
        P99.keys,
    ),
    ("requests that were to be sent", EXPECTED.keys),
    (
        "prompt and output tokens per second",
        TOTAL_TOKENS_PER_S.keys,
    ),
    (
        "mean TTFT (with _s or _ms in the key), taken where TPOT and latency agree with it",
        TTFT.keys,
    ),
    (
        "mean TPOT (with _s or _ms in the key, such as ms_per_output_token), taken where TTFT and latency agree with it",
        TPOT.keys,
    ),
    (
        "mean ITL (with _s or _ms in the key), taken with TTFT and TPOT",
        ITL.keys,
    ),
    (
        "median ITL (with _s or _ms in the key), taken beside the mean",
        ITL_MEDIAN.keys,
    ),
    ("model", MODEL),
    ("tensor parallel size", TP.keys),
    ("engine that served", ENGINE),
    ("way of asking, which may name the engine", CLIENT),
    ("its version", VERSION),
    ("machine that served", HOST),
    ("name of its GPUs", GPU),
    ("how weights are stored", QUANTISATION),
    ("what prompts are made of", DATASET),
    ("seed", SEED),
];

/// What a flat summary may hold: for each number its meaning and the keys that name it, the preferred one first.
#[must_use]
pub fn accepted_keys() -> &'static [(&'static str, &'static [&'static str])] {
    &ACCEPTED
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_key_has_two_meanings() {
        let mut keys: Vec<&str> = ACCEPTED
            .iter()
            .flat_map(|(_, keys)| *keys)
            .copied()
            .collect();
        let all = keys.len();
        keys.sort_unstable();
        keys.dedup();
        assert_eq!(keys.len(), all);
    }
}
