//! What the server counts while it runs, and how engines name it in `/metrics`; what only this server has stands under `tplens:`.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::dialect::Dialect;
use crate::prometheus::Value::{Counter, Gauge, Histogram};
use crate::prometheus::{Row, Times, counter, gauge, text};

/// Counters and gauges, shared by the pacer and all connections, in wall time.
#[derive(Debug, Default)]
pub(super) struct Counters {
    /// Sequences in the step under way.
    pub(super) running: AtomicU64,
    /// Requests that have not been admitted.
    pub(super) waiting: AtomicU64,
    /// Prompt tokens that went through steps.
    pub(super) prompt_tokens: AtomicU64,
    /// Tokens that were generated.
    pub(super) generated_tokens: AtomicU64,
    /// Requests that got their last token.
    pub(super) finished: AtomicU64,
    /// Reserved part of the key-value blocks, parts in a million.
    pub(super) kv_used_ppm: AtomicU64,
    /// Prompt tokens that were looked up in the prefix cache.
    pub(super) prefix_queried: AtomicU64,
    /// Those that were there.
    pub(super) prefix_hits: AtomicU64,
    /// From arrivals to first tokens.
    pub(super) ttft: Times,
    /// From each token to the next of its request.
    pub(super) itl: Times,
    /// From arrivals to last tokens.
    pub(super) e2e: Times,
    /// From arrivals to leaving the queue.
    pub(super) queued: Times,
    /// By how much steps took longer than the box's because this machine was late: one a step, most of them nothing.
    pub(super) lost: Times,
    /// From leaving the queue to first tokens.
    pub(super) prefill: Times,
    /// Keys and values on the link from a prefill engine.
    pub(super) kv_sent: Times,
    /// Bytes of these.
    pub(super) kv_bytes: AtomicU64,
    /// Requests whose keys and values were not there.
    pub(super) kv_failed: AtomicU64,
    /// Requests whose keys and values nobody fetched before their lease ended.
    pub(super) kv_expired: AtomicU64,
    /// Requests whose keys and values wait for a decode engine.
    pub(super) kv_held: AtomicU64,
    /// Steps that ended.
    pub(super) steps: AtomicU64,
}

impl Counters {
    /// What was served, in a sentence for the log.
    pub(super) fn line(&self) -> String {
        let [finished, tokens, steps] =
            [&self.finished, &self.generated_tokens, &self.steps].map(|of| of.load(Relaxed));
        format!("served {finished} requests and {tokens} tokens in {steps} steps")
    }

    /// `/metrics` under the names of a dialect.
    pub(super) fn metrics(&self, dialect: Dialect, model: &str, soft_box: &str) -> String {
        let (prefix, own) = match dialect {
            Dialect::Vllm => ("vllm:", "engine=\"0\""),
            Dialect::Sglang => ("sglang:", "engine_type=\"unified\""),
        };
        // A label's value as the format escapes it.
        let escaped = |value: &str| {
            let value = value.replace('\\', "\\\\").replace('"', "\\\"");
            value.replace('\n', "\\n")
        };
        let (model, soft_box) = (escaped(model), escaped(soft_box));
        let labels = format!("{own},model_name=\"{model}\",tplens_soft_box=\"{soft_box}\"");
        let only_here = [
            ("kv_held_requests", gauge(&self.kv_held)),
            ("steps_total", counter(&self.steps)),
            ("step_lost_seconds", Histogram(&self.lost)),
        ];
        text(&self.rows(dialect), prefix, &labels) + &text(&only_here, "tplens:", &labels)
    }

    fn rows(&self, dialect: Dialect) -> Vec<Row<'_>> {
        let generated = counter(&self.generated_tokens);
        let kv_used = Gauge(self.kv_used_ppm.load(Relaxed) as f64 / 1e6);
        // Those from the cache with them: engines count whole prompts.
        let prompts = self.prompt_tokens.load(Relaxed) + self.prefix_hits.load(Relaxed);
        let prompts = Counter(prompts as f64);
        match dialect {
            Dialect::Vllm => vec![
                ("num_requests_running", gauge(&self.running)),
                ("num_requests_waiting", gauge(&self.waiting)),
                ("kv_cache_usage_perc", kv_used),
                ("prompt_tokens_total", prompts),
                ("generation_tokens_total", generated),
                ("request_success_total", counter(&self.finished)),
                // This engine puts no request back.
                ("num_preemptions_total", Counter(0.0)),
                ("prefix_cache_queries_total", counter(&self.prefix_queried)),
                ("prefix_cache_hits_total", counter(&self.prefix_hits)),
                ("time_to_first_token_seconds", Histogram(&self.ttft)),
                ("inter_token_latency_seconds", Histogram(&self.itl)),
                ("e2e_request_latency_seconds", Histogram(&self.e2e)),
                ("request_queue_time_seconds", Histogram(&self.queued)),
                ("request_prefill_time_seconds", Histogram(&self.prefill)),
                ("nixl_xfer_time_seconds", Histogram(&self.kv_sent)),
                ("nixl_bytes_transferred_sum", counter(&self.kv_bytes)),
                ("nixl_num_failed_transfers_total", counter(&self.kv_failed)),
                ("nixl_num_kv_expired_reqs_total", counter(&self.kv_expired)),
            ],
            Dialect::Sglang => vec![
                ("num_running_reqs", gauge(&self.running)),
                ("num_queue_reqs", gauge(&self.waiting)),
                ("token_usage", kv_used),
                ("prompt_tokens_total", prompts),
                ("generation_tokens_total", generated),
                ("num_requests_total", counter(&self.finished)),
                ("cached_tokens_total", counter(&self.prefix_hits)),
                ("time_to_first_token_seconds", Histogram(&self.ttft)),
                ("inter_token_latency_seconds", Histogram(&self.itl)),
                ("e2e_request_latency_seconds", Histogram(&self.e2e)),
                ("num_transfer_failed_reqs_total", counter(&self.kv_failed)),
            ],
        }
    }
}
