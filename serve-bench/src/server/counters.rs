//! What the server counts while it runs, and its rendering for `/metrics`.

use std::fmt::Write as _;
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

    /// Prometheus text: vLLM's names with its labels, and our own under `tplens:`.
    pub(super) fn prometheus(&self, model: &str, soft_box: &str) -> String {
        let labels = format!(
            "engine=\"0\",model_name=\"{}\",tplens_soft_box=\"{}\"",
            escaped(model),
            escaped(soft_box)
        );
        let mut text = String::new();
        for (name, kind, help, value) in self.rows() {
            // Writing to a String does not fail.
            let _ = write!(
                text,
                "# HELP {name} {help}\n# TYPE {name} {kind}\n{name}{{{labels}}} {value}\n"
            );
        }
        text
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

    /// Name, kind, help and value of every metric.
    fn rows(&self) -> [(&'static str, &'static str, &'static str, String); 10] {
        let count = |counter: &AtomicU64| format!("{}.0", counter.load(Relaxed));
        let seconds = |counter: &AtomicU64| {
            format!(
                "{:?}",
                Duration::from_micros(counter.load(Relaxed)).as_secs_f64()
            )
        };
        let kv_used = f64::from(u32::try_from(self.kv_used_ppm.load(Relaxed)).unwrap_or(u32::MAX));
        [
            (
                "vllm:num_requests_running",
                "gauge",
                "Number of requests in model execution batches.",
                count(&self.running),
            ),
            (
                "vllm:num_requests_waiting",
                "gauge",
                "Number of requests waiting to be processed.",
                count(&self.waiting),
            ),
            (
                "vllm:kv_cache_usage_perc",
                "gauge",
                "KV-cache usage. 1 means 100 percent usage.",
                format!("{:?}", kv_used / 1e6),
            ),
            (
                "vllm:prompt_tokens_total",
                "counter",
                "Number of prefill tokens processed.",
                count(&self.prompt_tokens),
            ),
            (
                "vllm:generation_tokens_total",
                "counter",
                "Number of generation tokens processed.",
                count(&self.generated_tokens),
            ),
            (
                "tplens:steps_total",
                "counter",
                "Steps that ended.",
                count(&self.steps),
            ),
            (
                "tplens:steps_late_total",
                "counter",
                "Steps that ended more than 1 ms of wall time after their time.",
                count(&self.steps_late),
            ),
            (
                "tplens:step_lag_seconds_max",
                "gauge",
                "The latest end of a step after its time.",
                seconds(&self.step_lag_max_us),
            ),
            (
                "tplens:token_lag_seconds_max",
                "gauge",
                "The latest hand-over of a token to its connection after its step's time.",
                seconds(&self.token_lag_max_us),
            ),
            (
                "tplens:token_lag_seconds_sum",
                "counter",
                "All hand-overs of tokens after their steps' times together.",
                seconds(&self.token_lag_sum_us),
            ),
        ]
    }
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

/// A label value as the Prometheus text format escapes it.
fn escaped(value: &str) -> String {
    value
        .replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', "\\n")
}
