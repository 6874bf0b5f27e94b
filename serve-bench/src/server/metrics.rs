//! `/metrics` in the Prometheus text format: the counters under each engine's own names, and what only this server has under
//! `tplens:`.
//!
//! Histograms have no bucket but the last one; sums and counts are exact.

use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use super::counters::{Counters, Times};

/// Whose names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Metrics {
    /// vLLM's.
    Vllm,
    /// SGLang's.
    Sglang,
    /// llama.cpp's.
    LlamaCpp,
    /// The engine has no /metrics.
    None,
}

/// A metric's value.
enum Value<'a> {
    Counter(f64),
    Gauge(f64),
    Histogram(&'a Times),
}

use Value::{Counter, Gauge, Histogram};

/// Name, help and value.
type Row<'a> = (&'static str, &'static str, Value<'a>);

impl Metrics {
    /// The text; `None` where the engine has none.
    pub(super) fn text(self, counters: &Counters, model: &str, soft_box: &str) -> Option<String> {
        let soft = format!("tplens_soft_box=\"{}\"", escaped(soft_box));
        let model = escaped(model);
        let (rows, labels) = match self {
            Self::None => return None,
            Self::Vllm => (
                vllm(counters),
                format!("engine=\"0\",model_name=\"{model}\",{soft}"),
            ),
            Self::Sglang => (
                sglang(counters),
                format!("engine_type=\"unified\",model_name=\"{model}\",{soft}"),
            ),
            // Its own have no labels.
            Self::LlamaCpp => (llama_cpp(counters), String::new()),
        };
        let mut text = String::new();
        for row in &rows {
            write_row(&mut text, row, &labels);
        }
        let own = if labels.is_empty() { &soft } else { &labels };
        for row in &own_rows(counters) {
            write_row(&mut text, row, own);
        }
        Some(text)
    }
}

/// Writing to a String does not fail.
fn write_row(text: &mut String, (name, help, value): &Row<'_>, labels: &str) {
    let (kind, value) = match value {
        Counter(value) => ("counter", *value),
        Gauge(value) => ("gauge", *value),
        Histogram(times) => {
            let (count, sum) = (times.count(), times.sum().as_secs_f64());
            let comma = if labels.is_empty() { "" } else { "," };
            let _ = write!(
                text,
                "# HELP {name} {help}\n# TYPE {name} histogram\n{name}_bucket{{{labels}{comma}le=\"+Inf\"}} {count}.0\n{name}_sum{{{labels}}} {sum:?}\n{name}_count{{{labels}}} {count}.0\n"
            );
            return;
        }
    };
    let braces = if labels.is_empty() {
        String::new()
    } else {
        format!("{{{labels}}}")
    };
    let _ = write!(
        text,
        "# HELP {name} {help}\n# TYPE {name} {kind}\n{name}{braces} {value:?}\n"
    );
}

/// Tokens of prompts, those from the cache with them: vLLM and SGLang count whole prompts, llama.cpp what it worked on.
fn whole_prompts(c: &Counters) -> f64 {
    number(&c.prompt_tokens) + number(&c.prefix_hits)
}

#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
fn number(counter: &AtomicU64) -> f64 {
    counter.load(Relaxed) as f64
}

fn seconds(micros: &AtomicU64) -> f64 {
    Duration::from_micros(micros.load(Relaxed)).as_secs_f64()
}

fn part(counter: &AtomicU64, of: &AtomicU64) -> f64 {
    let of = number(of);
    if of > 0.0 { number(counter) / of } else { 0.0 }
}

fn vllm(counters: &Counters) -> Vec<Row<'_>> {
    let c = counters;
    vec![
        (
            "vllm:num_requests_running",
            "Number of requests in model execution batches.",
            Gauge(number(&c.running)),
        ),
        (
            "vllm:num_requests_waiting",
            "Number of requests waiting to be processed.",
            Gauge(number(&c.waiting)),
        ),
        (
            "vllm:kv_cache_usage_perc",
            "KV-cache usage. 1 means 100 percent usage.",
            Gauge(number(&c.kv_used_ppm) / 1e6),
        ),
        (
            "vllm:prompt_tokens_total",
            "Number of prefill tokens processed.",
            Counter(whole_prompts(c)),
        ),
        (
            "vllm:generation_tokens_total",
            "Number of generation tokens processed.",
            Counter(number(&c.generated_tokens)),
        ),
        (
            "vllm:request_success_total",
            "Count of successfully processed requests.",
            Counter(number(&c.finished)),
        ),
        (
            "vllm:num_preemptions_total",
            "Cumulative number of preemptions; this engine has none.",
            Counter(0.0),
        ),
        (
            "vllm:prefix_cache_queries_total",
            "Prefix cache queries, in terms of number of queried tokens.",
            Counter(number(&c.prefix_queried)),
        ),
        (
            "vllm:prefix_cache_hits_total",
            "Prefix cache hits, in terms of number of cached tokens.",
            Counter(number(&c.prefix_hits)),
        ),
        (
            "vllm:time_to_first_token_seconds",
            "Time to first token.",
            Histogram(&c.ttft),
        ),
        (
            "vllm:inter_token_latency_seconds",
            "Time from a token to the next of its request.",
            Histogram(&c.itl),
        ),
        (
            "vllm:e2e_request_latency_seconds",
            "Time from arrival to the last token.",
            Histogram(&c.e2e),
        ),
        (
            "vllm:request_queue_time_seconds",
            "Time spent waiting.",
            Histogram(&c.queued),
        ),
        (
            "vllm:request_prefill_time_seconds",
            "Time from leaving the queue to the first token.",
            Histogram(&c.prefill),
        ),
    ]
}

fn sglang(counters: &Counters) -> Vec<Row<'_>> {
    let c = counters;
    vec![
        (
            "sglang:num_running_reqs",
            "The number of running requests.",
            Gauge(number(&c.running)),
        ),
        (
            "sglang:num_queue_reqs",
            "The number of requests in the waiting queue.",
            Gauge(number(&c.waiting)),
        ),
        (
            "sglang:token_usage",
            "The token usage.",
            Gauge(number(&c.kv_used_ppm) / 1e6),
        ),
        (
            "sglang:cache_hit_rate",
            "The prefix cache hit rate.",
            Gauge(part(&c.prefix_hits, &c.prefix_queried)),
        ),
        (
            "sglang:prompt_tokens_total",
            "Number of prefill tokens processed.",
            Counter(whole_prompts(c)),
        ),
        (
            "sglang:generation_tokens_total",
            "Number of generation tokens processed.",
            Counter(number(&c.generated_tokens)),
        ),
        (
            "sglang:cached_tokens_total",
            "Number of cached prompt tokens.",
            Counter(number(&c.prefix_hits)),
        ),
        (
            "sglang:num_requests_total",
            "Number of requests processed.",
            Counter(number(&c.finished)),
        ),
        (
            "sglang:time_to_first_token_seconds",
            "Time to first token.",
            Histogram(&c.ttft),
        ),
        (
            "sglang:inter_token_latency_seconds",
            "Time from a token to the next of its request.",
            Histogram(&c.itl),
        ),
        (
            "sglang:e2e_request_latency_seconds",
            "Time from arrival to the last token.",
            Histogram(&c.e2e),
        ),
    ]
}

fn llama_cpp(counters: &Counters) -> Vec<Row<'_>> {
    let c = counters;
    vec![
        (
            "llamacpp:prompt_tokens_total",
            "Number of prompt tokens processed.",
            Counter(number(&c.prompt_tokens)),
        ),
        (
            "llamacpp:prompt_seconds_total",
            "Prompt process time.",
            Counter(c.prefill.sum().as_secs_f64()),
        ),
        (
            "llamacpp:tokens_predicted_total",
            "Number of generation tokens processed.",
            Counter(number(&c.generated_tokens)),
        ),
        (
            "llamacpp:tokens_predicted_seconds_total",
            "Predict process time.",
            Counter(c.itl.sum().as_secs_f64()),
        ),
        (
            "llamacpp:n_decode_total",
            "Total number of llama_decode() calls.",
            Counter(number(&c.steps)),
        ),
        (
            "llamacpp:n_busy_slots_per_decode",
            "Average number of busy slots per llama_decode() call.",
            Gauge(part(&c.sequences, &c.steps)),
        ),
        (
            "llamacpp:requests_processing",
            "Number of requests processing.",
            Gauge(number(&c.running)),
        ),
        (
            "llamacpp:requests_deferred",
            "Number of requests deferred.",
            Gauge(number(&c.waiting)),
        ),
    ]
}

fn own_rows(counters: &Counters) -> Vec<Row<'_>> {
    let c = counters;
    vec![
        (
            "tplens:steps_total",
            "Steps that ended.",
            Counter(number(&c.steps)),
        ),
        (
            "tplens:steps_late_total",
            "Steps that ended more than 1 ms of wall time after their time.",
            Counter(number(&c.steps_late)),
        ),
        (
            "tplens:step_lag_seconds_max",
            "The latest end of a step after its time.",
            Gauge(seconds(&c.step_lag_max_us)),
        ),
        (
            "tplens:step_lost_seconds",
            "Wall time by which steps took longer than the box's because this machine was late, one a step.",
            Histogram(&c.lost),
        ),
        (
            "tplens:token_lag_seconds_max",
            "The latest hand-over of a token to its connection after its step's time.",
            Gauge(seconds(&c.token_lag_max_us)),
        ),
        (
            "tplens:token_lag_seconds_sum",
            "All hand-overs of tokens after their steps' times together.",
            Counter(seconds(&c.token_lag_sum_us)),
        ),
    ]
}

/// A label value as the Prometheus text format escapes it.
fn escaped(value: &str) -> String {
    value
        .replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', "\\n")
}
