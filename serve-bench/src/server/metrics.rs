//! `/metrics` in the Prometheus text format: the counters under each engine's own names, and what only this server has under
//! `tplens:`.
//!
//! Histograms have no bucket but the last one; sums and counts are exact.

use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::counters::{Counters, Times};
use super::dialect::Dialect;

/// A metric's value.
enum Value<'a> {
    Counter(f64),
    Gauge(f64),
    Histogram(&'a Times),
}

use Value::{Counter, Gauge, Histogram};

/// Name and value.
type Row<'a> = (&'static str, Value<'a>);

/// The text under the names of a dialect.
pub(super) fn text(dialect: Dialect, counters: &Counters, model: &str, soft_box: &str) -> String {
    let (rows, own) = match dialect {
        Dialect::Vllm => (vllm(counters), "engine=\"0\""),
        Dialect::Sglang => (sglang(counters), "engine_type=\"unified\""),
    };
    let (model, soft_box) = (escaped(model), escaped(soft_box));
    let labels = format!("{own},model_name=\"{model}\",tplens_soft_box=\"{soft_box}\"");
    let only_here = [
        ("tplens:steps_total", Counter(number(&counters.steps))),
        // Wall time by which steps took longer than the box's because this machine was late, one a step.
        ("tplens:step_lost_seconds", Histogram(&counters.lost)),
    ];
    let mut text = String::new();
    for row in rows.iter().chain(&only_here) {
        write_row(&mut text, row, &labels);
    }
    text
}

/// Writing to a String does not fail.
fn write_row(text: &mut String, (name, value): &Row<'_>, labels: &str) {
    let (kind, value) = match value {
        Counter(value) => ("counter", *value),
        Gauge(value) => ("gauge", *value),
        Histogram(times) => {
            let (count, sum) = (times.count(), times.sum().as_secs_f64());
            let _ = write!(
                text,
                "# TYPE {name} histogram\n{name}_bucket{{{labels},le=\"+Inf\"}} {count}.0\n{name}_sum{{{labels}}} {sum:?}\n{name}_count{{{labels}}} {count}.0\n"
            );
            return;
        }
    };
    let _ = write!(text, "# TYPE {name} {kind}\n{name}{{{labels}}} {value:?}\n");
}

/// Tokens of prompts, those from the cache with them: engines count whole prompts.
fn whole_prompts(c: &Counters) -> f64 {
    number(&c.prompt_tokens) + number(&c.prefix_hits)
}

#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
fn number(counter: &AtomicU64) -> f64 {
    counter.load(Relaxed) as f64
}

fn vllm(c: &Counters) -> Vec<Row<'_>> {
    vec![
        ("vllm:num_requests_running", Gauge(number(&c.running))),
        ("vllm:num_requests_waiting", Gauge(number(&c.waiting))),
        (
            "vllm:kv_cache_usage_perc",
            Gauge(number(&c.kv_used_ppm) / 1e6),
        ),
        ("vllm:prompt_tokens_total", Counter(whole_prompts(c))),
        (
            "vllm:generation_tokens_total",
            Counter(number(&c.generated_tokens)),
        ),
        ("vllm:request_success_total", Counter(number(&c.finished))),
        // This engine puts no request back.
        ("vllm:num_preemptions_total", Counter(0.0)),
        (
            "vllm:prefix_cache_queries_total",
            Counter(number(&c.prefix_queried)),
        ),
        (
            "vllm:prefix_cache_hits_total",
            Counter(number(&c.prefix_hits)),
        ),
        ("vllm:time_to_first_token_seconds", Histogram(&c.ttft)),
        ("vllm:inter_token_latency_seconds", Histogram(&c.itl)),
        ("vllm:e2e_request_latency_seconds", Histogram(&c.e2e)),
        ("vllm:request_queue_time_seconds", Histogram(&c.queued)),
        ("vllm:request_prefill_time_seconds", Histogram(&c.prefill)),
        ("vllm:nixl_xfer_time_seconds", Histogram(&c.kv_sent)),
        (
            "vllm:nixl_bytes_transferred_sum",
            Counter(number(&c.kv_bytes)),
        ),
        (
            "vllm:nixl_num_failed_transfers_total",
            Counter(number(&c.kv_failed)),
        ),
        (
            "vllm:nixl_num_kv_expired_reqs_total",
            Counter(number(&c.kv_expired)),
        ),
        ("tplens:kv_held_requests", Gauge(number(&c.kv_held))),
    ]
}

fn sglang(c: &Counters) -> Vec<Row<'_>> {
    vec![
        ("sglang:num_running_reqs", Gauge(number(&c.running))),
        ("sglang:num_queue_reqs", Gauge(number(&c.waiting))),
        ("sglang:token_usage", Gauge(number(&c.kv_used_ppm) / 1e6)),
        ("sglang:prompt_tokens_total", Counter(whole_prompts(c))),
        (
            "sglang:generation_tokens_total",
            Counter(number(&c.generated_tokens)),
        ),
        (
            "sglang:cached_tokens_total",
            Counter(number(&c.prefix_hits)),
        ),
        ("sglang:num_requests_total", Counter(number(&c.finished))),
        ("sglang:time_to_first_token_seconds", Histogram(&c.ttft)),
        ("sglang:inter_token_latency_seconds", Histogram(&c.itl)),
        ("sglang:e2e_request_latency_seconds", Histogram(&c.e2e)),
        (
            "sglang:num_transfer_failed_reqs_total",
            Counter(number(&c.kv_failed)),
        ),
        ("tplens:kv_held_requests", Gauge(number(&c.kv_held))),
    ]
}

/// A label value as the Prometheus text format escapes it.
fn escaped(value: &str) -> String {
    value
        .replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', "\\n")
}
