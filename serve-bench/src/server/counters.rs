//! What the server counts while it runs. How engines name it is in [`super::metrics`].

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// A step that ends later than this after its time counts as late.
const LATE: Duration = Duration::from_millis(1);

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
    /// From leaving the queue to first tokens.
    pub(super) prefill: Times,
    /// By how much steps took longer than the box's because this machine was late: one a step, most of them nothing.
    pub(super) lost: Times,
    /// Sequences of all steps that ended.
    pub(super) sequences: AtomicU64,
    /// Steps that ended.
    pub(super) steps: AtomicU64,
    /// Steps that ended more than a millisecond late.
    pub(super) steps_late: AtomicU64,
    /// The latest step end after its time.
    pub(super) step_lag_max_us: AtomicU64,
    /// The latest hand-over of a token to its connection after the end of its step.
    pub(super) token_lag_max_us: AtomicU64,
    /// All hand-overs together.
    pub(super) token_lag_sum_us: AtomicU64,
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
    /// Counts a step that ended so long after its time.
    pub(super) fn step_ended(&self, lag: Duration) {
        self.steps.fetch_add(1, Relaxed);
        self.step_lag_max_us.fetch_max(micros(lag), Relaxed);
        if lag > LATE {
            self.steps_late.fetch_add(1, Relaxed);
        }
    }

    /// Counts a token that a connection took so long after the end of its step.
    pub(super) fn token_taken(&self, lag: Duration) {
        self.token_lag_max_us.fetch_max(micros(lag), Relaxed);
        self.token_lag_sum_us.fetch_add(micros(lag), Relaxed);
    }

    /// How late the server was, in a sentence for the log.
    pub(super) fn lag_line(&self) -> String {
        let count = |counter: &AtomicU64| counter.load(Relaxed);
        format!(
            "served {} requests and {} tokens in {} steps; {} steps ended more than 1 ms late, the worst by {:.3} ms; a token was taken at most {:.3} ms late",
            count(&self.finished),
            count(&self.generated_tokens),
            count(&self.steps),
            count(&self.steps_late),
            Duration::from_micros(count(&self.step_lag_max_us)).as_secs_f64() * 1e3,
            Duration::from_micros(count(&self.token_lag_max_us)).as_secs_f64() * 1e3,
        )
    }
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}
