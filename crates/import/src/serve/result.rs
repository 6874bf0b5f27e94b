//! A serving result as far as anybody's file tells it: ours, vLLM's, or a summary of requests that were not streamed; and what the file
//! says beside it: each request where it has them, and what contradicts what.

use serde::{Deserialize, Serialize};

use super::conditions::Conditions;
use super::finding::Finding;
use super::latency::Latency;
use crate::number::float;
use record::ServeRequest;
use stats::Interval;

/// How far the mean over requests may lie from the mean that a file gives, to count as the same thing.
pub(super) const SAME: f64 = 0.005;

/// A serving result as a file tells it.
#[derive(Debug, Clone, PartialEq)]
pub struct ServeResult {
    /// The result in this project's terms.
    pub run: ServeRun,
    /// What was asked for, as far as the file tells.
    pub asked: Asked,
    /// Figures that the file states of itself.
    pub said: Said,
    /// Each request that succeeded, where the file has them; of our own records each that was sent.
    pub requests: Vec<ServeRequest>,
    /// Whether the instants of the requests share one clock; else each request begins at zero.
    pub clocked: bool,
    /// Whether this project measured it, in whatever form it was kept.
    pub ours: bool,
    /// How far the duration may be off by the digits that its file prints of it, s.
    pub duration_off_s: f64,
    /// What contradicts what, and what a number does not mean.
    pub findings: Vec<Finding>,
    /// Keys of the file that nothing was taken from.
    pub unused: Vec<String>,
}

/// What a client was asked for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Asked {
    /// Requests.
    pub requests: Option<u64>,
    /// Prompt tokens, each request.
    pub input_tokens: Option<u64>,
    /// Output tokens, each request.
    pub output_tokens: Option<u64>,
}

/// Figures that a file states of itself, whether or not they are what their names say.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Said {
    /// Time to first token, mean, ms.
    pub ttft_ms: Option<f64>,
    /// Time per output token, mean, ms.
    pub tpot_ms: Option<f64>,
    /// Output tokens per second.
    pub output_tokens_per_s: Option<f64>,
    /// Prompt and output tokens per second.
    pub total_tokens_per_s: Option<f64>,
    /// Most requests at once.
    pub peak_in_flight: Option<f64>,
}

impl ServeResult {
    /// A metric as the file tells it.
    #[must_use]
    pub fn spread(&self, latency: Latency) -> Option<&Spread> {
        match latency {
            Latency::Ttft => self.run.ttft_ms.as_ref(),
            Latency::Tpot => self.run.tpot_ms.as_ref(),
            Latency::Itl => self.run.itl_ms.as_ref(),
            Latency::E2el => self.run.e2el_ms.as_ref(),
        }
    }

    /// The raw values, ms, in one group for each request that has some; empty where the file has none, or has some that are not
    /// what its own mean is of.
    #[must_use]
    pub fn values(&self, latency: Latency) -> Vec<Vec<f64>> {
        let Some(spread) = self.spread(latency) else {
            return Vec::new();
        };
        let groups: Vec<Vec<f64>> = self
            .requests
            .iter()
            .filter(|request| request.error.is_none())
            .map(|request| latency.of(request))
            .filter(|values| !values.is_empty())
            .collect();
        let n: usize = groups.iter().map(Vec::len).sum();
        let sum: f64 = groups.iter().flatten().sum();
        if n > 0 && (sum / float(n as u64) - spread.mean).abs() <= SAME * spread.mean {
            groups
        } else {
            Vec::new()
        }
    }

    /// Prompt tokens of a request in the mean.
    #[must_use]
    pub fn input_each(&self) -> Option<f64> {
        self.each(self.run.input_tokens)
    }

    /// Output tokens of a request in the mean.
    #[must_use]
    pub fn output_each(&self) -> Option<f64> {
        self.each(self.run.output_tokens)
    }

    fn each(&self, all: Option<u64>) -> Option<f64> {
        all.filter(|_| self.run.completed > 0)
            .map(|all| float(all) / float(self.run.completed))
    }

    /// Mean end-to-end latency, ms; from TTFT and TPOT by the definition of TPOT, where the file does not give it.
    #[must_use]
    pub fn latency_ms(&self) -> Option<f64> {
        if let Some(latency) = &self.run.e2el_ms {
            return Some(latency.mean);
        }
        let first = self.run.ttft_ms.as_ref()?.mean;
        match self.output_each()? {
            each if each <= 1.0 => Some(first),
            each => Some(first + self.run.tpot_ms.as_ref()?.mean * (each - 1.0)),
        }
    }

    /// Why its times are the load generator's own and not the server's; empty where they are the server's.
    pub fn invalid(&self) -> impl Iterator<Item = &str> {
        self.findings.iter().filter_map(|one| match one {
            Finding::ClientLimit { detail } => Some(detail.as_str()),
            _ => None,
        })
    }

    /// Requests in flight in the mean, by Little's law; never more than there were, or than the file says at its peak.
    #[must_use]
    pub fn in_flight(&self) -> Option<f64> {
        let by_law = self.run.requests_per_s * self.latency_ms()? / 1e3;
        let peak = self.said.peak_in_flight.unwrap_or(f64::INFINITY);
        Some(by_law.min(peak).min(float(self.run.completed)))
    }

    /// The part of its duration by which it may be off by its digits.
    pub(super) fn duration_off(&self) -> f64 {
        self.duration_off_s / self.run.duration_s
    }

    /// Output tokens per second: as the file says, where that is no more than digits away from total over duration.
    #[must_use]
    pub fn output_tokens_per_s(&self) -> Option<f64> {
        self.rate(self.said.output_tokens_per_s, self.run.output_tokens)
    }

    /// Prompt and output tokens per second.
    #[must_use]
    pub fn total_tokens_per_s(&self) -> Option<f64> {
        let totals = self.run.input_tokens.zip(self.run.output_tokens);
        let all = totals.map(|(input, output)| input + output);
        self.rate(self.said.total_tokens_per_s, all)
    }

    fn rate(&self, said: Option<f64>, tokens: Option<u64>) -> Option<f64> {
        let own = tokens.map(|tokens| float(tokens) / self.run.duration_s);
        let near = |said: &f64| own.is_none_or(|own| (said / own - 1.0).abs() <= SAME);
        said.filter(near).or(own)
    }
}

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
    /// 90th percentile.
    #[serde(default)]
    pub p90: Option<f64>,
    /// 99th percentile.
    pub p99: Option<f64>,
}
