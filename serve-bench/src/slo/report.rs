//! The answer of a search as data: every run with its verdict, and what was found. No words.

use record::{Serve, ServeRequest};
use serde::Serialize;

use super::judge::{Judged, judge};
use super::limit::{Limit, cached};
use super::objective::Objective;
use super::search::Found;

/// The version of the answer and of the settings.
pub(super) const SCHEMA: u32 = 2;

/// The answer as data.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Answer {
    /// Version of this file.
    pub(super) schema: u32,
    /// The simulated machine behind it.
    pub(super) simulated: Option<String>,
    /// `rate` or `concurrency`.
    pub(super) search: &'static str,
    /// The load's unit.
    pub(super) unit: &'static str,
    /// The objectives, such as `p99_ttft <= 5000 ms`.
    pub(super) slo: Vec<String>,
    /// What was found.
    pub(super) found: Found,
    /// Every run with its verdict.
    pub(super) runs: Vec<Decision>,
}

/// A run and the verdict on its load, with the earlier runs of the same load.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Decision {
    /// Number of the run, from 1.
    pub(super) run: usize,
    /// Its load.
    pub(super) at: f64,
    /// Its folder's name.
    folder: String,
    /// Requests of the run that succeeded.
    pub(super) completed: u32,
    /// Requests of the run that failed.
    pub(super) failed: u32,
    /// Completed requests per second of the run's whole duration.
    pub(super) requests_per_s: f64,
    /// Output tokens per second.
    output_tokens_per_s: Option<f64>,
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
    /// The last of these runs with what those of the same load say together.
    pub(super) fn new(
        objectives: &[Objective],
        (at, folder): (f64, String),
        before: &[Self],
        serves: &[Serve],
    ) -> Self {
        let loads = before.iter().map(|made| made.at).chain([at]);
        let same = loads.zip(serves).filter(|(load, _)| *load == at);
        let same: Vec<&Serve> = same.map(|(_, serve)| serve).collect();
        let judged = judge(objectives, &same);
        let own = &serves[before.len()];
        let summary = own.summary.clone().unwrap_or_default();
        Self {
            run: serves.len(),
            at,
            folder,
            completed: summary.completed,
            failed: summary.failed,
            requests_per_s: summary.requests_per_s,
            output_tokens_per_s: summary.output_tokens_per_s,
            attained: attained(objectives, &own.requests),
            prefix_cache: cached(own),
            limit: Limit::of(own, &judged),
            judged,
        }
    }
}

/// The part of the requests that keep every limit.
#[expect(clippy::cast_precision_loss, reason = "counts of requests")]
fn attained(objectives: &[Objective], requests: &[ServeRequest]) -> Option<f64> {
    let keeps =
        |one: &&ServeRequest| one.error.is_none() && objectives.iter().all(|of| of.is_kept_by(one));
    let kept = requests.iter().filter(keeps).count();
    (!requests.is_empty()).then(|| kept as f64 / requests.len() as f64)
}
