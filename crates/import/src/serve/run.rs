//! A serving result as far as anybody's file tells it: ours, vLLM's, or a summary of requests that were not streamed.

use serde::{Deserialize, Serialize};

use super::conditions::Conditions;
use stats::Interval;

/// A serving result. What a file does not say is `None`, never zero.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ServeRun {
    /// The file it came from.
    pub origin: String,
    /// Whose format.
    pub format: ServeFormat,
    /// The simulated machine behind it, where it is simulated.
    pub simulated: Option<String>,
    /// The model, as the file names it.
    pub model: Option<String>,
    /// Tensor parallel size, where the file says.
    pub tp: Option<u32>,
    /// Whether replies were streamed; without that there is no true TTFT, TPOT or ITL.
    pub streamed: bool,
    /// Requests asked to be in flight at once; `None` for an open loop or where the file does not say.
    pub concurrency_asked: Option<f64>,
    /// Requests per second asked for; `None` for a closed loop, infinite where all were sent at once.
    pub request_rate_asked: Option<f64>,
    /// Requests that succeeded.
    pub completed: u64,
    /// Requests that failed; `None` where the file does not say.
    pub failed: Option<u64>,
    /// Wall time of the load, s.
    pub duration_s: f64,
    /// Successful requests per second: `completed` over `duration_s`.
    pub requests_per_s: f64,
    /// Prompt tokens of all successful requests; worked out from a rate, where the file gives a rate only.
    pub input_tokens: Option<u64>,
    /// Output tokens of all successful requests; worked out from a rate, where the file gives a rate only.
    pub output_tokens: Option<u64>,
    /// Output tokens that were asked for, each request.
    pub output_tokens_asked: Option<u64>,
    /// Whether every request gave as many output tokens as every other; `None` where the file does not show it.
    pub fixed_output: Option<bool>,
    /// End-to-end latency, ms.
    pub e2el_ms: Option<Spread>,
    /// Time to first token, ms.
    pub ttft_ms: Option<Spread>,
    /// Time per output token after the first, ms.
    pub tpot_ms: Option<Spread>,
    /// Gap between chunks that carry tokens, ms.
    pub itl_ms: Option<Spread>,
    /// Gap between tokens while every slot decodes, ms ([`record::metric::decode_gap`]); needs each request's instants, and
    /// chunks of one token.
    pub decode_gap_ms: Option<Spread>,
    /// What it was made with.
    #[serde(default)]
    pub conditions: Conditions,
}

impl ServeRun {
    /// Requests that were to be in flight at once: as asked for; one where there was only one request, however it was sent. `None` for
    /// an open loop, for several requests sent at once, or where the file does not say.
    #[must_use]
    pub fn in_flight_wanted(&self) -> Option<f64> {
        let is_alone = self.completed + self.failed.unwrap_or(0) == 1;
        self.concurrency_asked.or_else(|| is_alone.then_some(1.0))
    }
}

/// Whose format a serving result has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ServeFormat {
    /// A record of `tplens serve run`.
    Tplens,
    /// `vllm bench serve --save-result`, also of older versions, or the block that it prints.
    Vllm,
    /// SGLang's `bench_serving --output-file`.
    Sglang,
    /// A flat summary: requests and tokens per second, latency mean and percentiles.
    Summary,
}

/// A metric as a file tells it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Spread {
    /// Number of values; `None` where the file does not say.
    pub n: Option<u64>,
    /// Arithmetic mean.
    pub mean: f64,
    /// 95% interval of the mean; `None` where raw values are missing.
    pub mean_interval: Option<Interval>,
    /// Median.
    pub median: Option<f64>,
    /// Smallest.
    pub min: Option<f64>,
    /// Largest.
    pub max: Option<f64>,
    /// 99th percentile.
    pub p99: Option<f64>,
}
