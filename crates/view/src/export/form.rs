//! What `vllm bench serve` is told about its output, the statistics that it prints, and why a record has no form in its words.

use thiserror::Error;

use record::metric::{e2el, e2el_intended, itl, queue_time, tpot, ttft};
use record::{
    Distribution, Payload, Record, Serve, ServeLoad, ServeRequest, ServeSummary, ServeTarget,
};
use stats::{percentile_of_any, sorted};

/// A metric of vLLM's `--percentile-metrics`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VllmMetric {
    /// Time to first token.
    Ttft,
    /// Time per output token.
    Tpot,
    /// Gaps between chunks.
    Itl,
    /// End-to-end latency.
    E2el,
    /// Wait in the client; shown where requests in flight are limited.
    ClientQueueTime,
    /// End-to-end latency with that wait; shown where a rate is set, too.
    E2elIncludingClientQueue,
}

impl VllmMetric {
    /// All, in vLLM's order.
    pub const ALL: [Self; 6] = [
        Self::Ttft,
        Self::Tpot,
        Self::Itl,
        Self::E2el,
        Self::ClientQueueTime,
        Self::E2elIncludingClientQueue,
    ];

    /// Its name on the command line and in keys.
    #[must_use]
    pub fn key(self) -> &'static str {
        self.names().0
    }

    /// Its name in keys and in labels, and the title of its part of the block.
    pub(super) fn names(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Self::Ttft => ("ttft", "TTFT", "Time to First Token"),
            Self::Tpot => ("tpot", "TPOT", "Time per Output Token (excl. 1st token)"),
            Self::Itl => ("itl", "ITL", "Inter-token Latency"),
            Self::E2el => ("e2el", "E2EL", "End-to-end Latency"),
            Self::ClientQueueTime => {
                let key = "client_queue_time";
                (key, "Client Queue Time", "Client-side Queueing")
            }
            Self::E2elIncludingClientQueue => {
                let key = "e2el_including_client_queue";
                let title = "Queue-inclusive End-to-end Latency";
                (key, "E2EL incl. Client Queue", title)
            }
        }
    }

    fn distribution(self, summary: &ServeSummary) -> Option<&Distribution> {
        match self {
            Self::Ttft => summary.ttft_ms.as_ref(),
            Self::Tpot => summary.tpot_ms.as_ref(),
            Self::Itl => summary.itl_ms.as_ref(),
            Self::E2el => summary.e2el_ms.as_ref(),
            Self::ClientQueueTime => summary.queue_ms.as_ref(),
            Self::E2elIncludingClientQueue => summary.e2el_intended_ms.as_ref(),
        }
    }

    fn values(self, request: &ServeRequest) -> Vec<f64> {
        let one = |value: Option<f64>| value.into_iter().collect();
        match self {
            Self::Ttft => one(ttft(request)),
            Self::Tpot => one(tpot(request)),
            Self::Itl => itl(request),
            Self::E2el => vec![e2el(request)],
            Self::ClientQueueTime => one(queue_time(request)),
            Self::E2elIncludingClientQueue => one(e2el_intended(request)),
        }
    }
}

/// What the command line says about the output in vLLM's form.
#[derive(Debug, Clone, PartialEq)]
pub struct VllmForm {
    /// Every request's figures, too (`--save-detailed`).
    pub detailed: bool,
    /// Metrics to show (`--percentile-metrics`).
    pub metrics: Vec<VllmMetric>,
    /// Percentiles, 0 to 100 (`--metric-percentiles`).
    pub percentiles: Vec<f64>,
    /// `--label`.
    pub label: Option<String>,
    /// `--backend`; `None` goes by the endpoint.
    pub backend: Option<String>,
    /// `--model`, where requests carry another name.
    pub model: Option<String>,
    /// `--tokenizer`.
    pub tokenizer: Option<String>,
    /// `--metadata`.
    pub metadata: Vec<(String, String)>,
}

impl Default for VllmForm {
    /// vLLM's defaults, with end-to-end latency.
    fn default() -> Self {
        Self {
            detailed: false,
            metrics: VllmMetric::ALL[..4].to_vec(),
            percentiles: vec![99.0],
            label: None,
            backend: None,
            model: None,
            tokenizer: None,
            metadata: Vec::new(),
        }
    }
}

impl VllmForm {
    /// The backend's name.
    pub(super) fn backend(&self, target: &ServeTarget) -> String {
        let by_endpoint = match target.endpoint.contains("chat") {
            true => "openai-chat",
            false => "openai",
        };
        self.backend.as_deref().unwrap_or(by_endpoint).to_owned()
    }

    /// The model as the command line names it.
    pub(super) fn model<'a>(&'a self, target: &'a ServeTarget) -> &'a str {
        self.model.as_deref().unwrap_or(&target.model)
    }

    /// The metrics that vLLM shows for such a load, in its order.
    pub(super) fn shown(&self, load: &ServeLoad) -> impl Iterator<Item = VllmMetric> {
        let capped = load.concurrency.is_some();
        let paced = load.arrivals.rate().is_some();
        VllmMetric::ALL.into_iter().filter(move |metric| {
            let applies = match metric {
                VllmMetric::ClientQueueTime => capped,
                VllmMetric::E2elIncludingClientQueue => capped && paced,
                _ => true,
            };
            applies && self.metrics.contains(metric)
        })
    }
}

/// Why a record has no such form.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum ExportError {
    /// The record holds something else.
    #[error("the record holds {0}; only a serving benchmark has vLLM's form")]
    NotServe(&'static str),
    /// The run ended before its first request.
    #[error("the run ended before its first request; run it again")]
    NotBegun,
    /// No request completed, or the run was broken off.
    #[error(
        "the record has no summary, since no request completed or the run was broken off; run it again"
    )]
    NoSummary,
}

/// What a record has from its first request on.
pub(super) fn begun(record: &Record) -> Result<(&Serve, &ServeTarget, &ServeLoad), ExportError> {
    let Payload::Serve(serve) = &record.payload else {
        return Err(ExportError::NotServe(record.payload.kind()));
    };
    let (Some(target), Some(load)) = (&serve.target, &serve.load) else {
        return Err(ExportError::NotBegun);
    };
    Ok((serve, target, load))
}

/// What is said of a metric; percentiles by the words of their keys.
pub(super) struct Statistics {
    pub(super) mean: Option<f64>,
    pub(super) median: Option<f64>,
    pub(super) std: Option<f64>,
    pub(super) percentiles: Vec<(String, Option<f64>)>,
}

impl Statistics {
    /// Of the completed requests; percentiles of however few, as vLLM gives them and its readers expect.
    pub(super) fn of(
        metric: VllmMetric,
        serve: &Serve,
        summary: &ServeSummary,
        percentiles: &[f64],
    ) -> Self {
        let of = metric.distribution(summary);
        // What the summary does not have, such as TTFT without a stream, no request has either.
        let values: Vec<f64> = serve
            .requests
            .iter()
            .filter(|request| of.is_some() && request.error.is_none())
            .flat_map(|request| metric.values(request))
            .collect();
        let ascending = sorted(&values);
        let percentile = |p: &f64| (p.to_string(), percentile_of_any(&ascending, p / 100.0));
        Self {
            mean: of.map(|of| of.mean),
            median: of.map(|of| of.median),
            std: of.map(|of| of.std),
            percentiles: percentiles.iter().map(percentile).collect(),
        }
    }
}
