//! What the server counts while it runs. How engines name it is in [`super::metrics`].

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// Counters and gauges, shared by the pacer and all connections. Times are microseconds of wall time.
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

/// Durations, their number and sum.
#[derive(Debug, Default)]
pub(super) struct Times {
    count: AtomicU64,
    sum_ns: AtomicU64,
}

impl Times {
    /// Adds one.
    pub(super) fn add(&self, time: Duration) {
        self.count.fetch_add(1, Relaxed);
        let ns = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        self.sum_ns.fetch_add(ns, Relaxed);
    }

    /// How many.
    pub(super) fn count(&self) -> u64 {
        self.count.load(Relaxed)
    }

    /// All together.
    pub(super) fn sum(&self) -> Duration {
        Duration::from_nanos(self.sum_ns.load(Relaxed))
    }
}

impl Counters {
    /// What was served, in a sentence for the log.
    pub(super) fn line(&self) -> String {
        let count = |counter: &AtomicU64| counter.load(Relaxed);
        format!(
            "served {} requests and {} tokens in {} steps",
            count(&self.finished),
            count(&self.generated_tokens),
            count(&self.steps),
        )
    }
}
