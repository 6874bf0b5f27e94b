//! The answer of a search as data: every run with its verdict, and what was found. No words.

use record::Serve;
use serde::Serialize;

use super::judge::Judged;
use super::limit::{Limit, cached};
use super::objective::Objective;
use super::search::{Found, Trial};

/// The version of the answer and of the settings.
pub(super) const SCHEMA: u32 = 1;

/// What was searched, in the folder.
pub(super) const SETTINGS: &str = "settings.json";

/// A run and the verdict on its load, with the earlier runs of the same load.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Decision {
    /// Number of the run, from 1.
    pub(super) run: usize,
    /// Its load.
    pub(super) at: f64,
    /// Its folder's name.
    pub(super) folder: String,
    /// Requests of the run that succeeded.
    pub(super) completed: u32,
    /// Requests of the run that failed.
    pub(super) failed: u32,
    /// Completed requests per second of the run's whole duration.
    pub(super) requests_per_s: f64,
    /// Output tokens per second.
    pub(super) output_tokens_per_s: Option<f64>,
    /// Part of the run's requests that keep every limit, 0 to 1; failed ones keep none.
    pub(super) attained: Option<f64>,
    /// Part of the run's prompt tokens that came from a prefix cache, 0 to 1, where it is a finding.
    pub(super) prefix_cache: Option<f64>,
    /// What kept the server from more, where the load is not met.
    pub(super) limit: Option<Limit>,
    /// The verdict.
    pub(super) judged: Judged,
}

impl Decision {
    pub(super) fn new(
        run: usize,
        at: f64,
        folder: String,
        judged: Judged,
        objectives: &[Objective],
        serve: Option<&Serve>,
    ) -> Self {
        let summary = serve.and_then(|serve| serve.summary.as_ref());
        Self {
            run,
            at,
            folder,
            completed: summary.map_or(0, |summary| summary.completed),
            failed: summary.map_or(0, |summary| summary.failed),
            requests_per_s: summary.map_or(0.0, |summary| summary.requests_per_s),
            output_tokens_per_s: summary.and_then(|summary| summary.output_tokens_per_s),
            attained: serve.and_then(|serve| attained(objectives, serve)),
            prefix_cache: serve.and_then(cached),
            limit: serve.and_then(|serve| Limit::of(serve, &judged)),
            judged,
        }
    }

    /// What the search needs of it.
    pub(super) fn trial(&self) -> Trial {
        Trial {
            at: self.at,
            verdict: self.judged.verdict,
        }
    }
}

/// The part of the requests that keep every limit.
#[expect(clippy::cast_precision_loss, reason = "counts of requests")]
fn attained(objectives: &[Objective], serve: &Serve) -> Option<f64> {
    let keeps = |one: &&record::ServeRequest| {
        one.error.is_none() && objectives.iter().all(|of| of.is_kept_by(one))
    };
    let of = serve.requests.len();
    (of > 0).then(|| serve.requests.iter().filter(keeps).count() as f64 / of as f64)
}

/// The answer, or as much of it as there is.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Answer {
    /// Version of this file.
    pub(super) schema: u32,
    /// The simulated machine behind it.
    pub(super) simulated: Option<String>,
    /// `rate` or `concurrency`.
    pub(super) search: String,
    /// The load's unit.
    pub(super) unit: String,
    /// The objectives, such as `p99_ttft <= 5000 ms`.
    pub(super) slo: Vec<String>,
    /// `None` while the search is under way.
    pub(super) found: Option<Found>,
    /// Every run with its verdict.
    pub(super) runs: Vec<Decision>,
}
