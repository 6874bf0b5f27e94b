//! In what two serving results differ beside their numbers: what makes them incomparable, and what a reader must know.

use import::serve::ServeResult;
use serde::Serialize;

/// How far lengths may lie apart and count as the same.
const SAME: f64 = 0.05;

/// How far the batch in flight may lie apart.
const SAME_BATCH: f64 = 0.10;

/// A larger part of failed requests leaves averages of survivors.
const FEW_FAILURES: f64 = 0.01;

/// How much the ratios are worth.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(super) enum Grade {
    /// One load, and intervals over the requests of both.
    A,
    /// One load, one run each without single requests, or lengths that differ.
    B,
    /// Another load, or one of the clients was the limit: the ratio is of both.
    C,
}

/// A difference of what was asked, or of how it was measured.
#[derive(Debug, Clone, PartialEq, Serialize, strum::IntoStaticStr)]
#[serde(tag = "code", rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub(crate) enum Difference {
    /// The load generator was the limit of one of them.
    ClientLimited {
        /// Whether of A.
        of_a: bool,
    },
    /// Other models.
    ModelDiffers { a: String, b: String },
    /// More than 1% of the requests of one failed; parts, 0 to 1.
    FailuresDiffer { a: f64, b: f64 },
    /// Other requests in flight.
    BatchDiffers { a: f64, b: f64 },
    /// One was streamed.
    StreamingDiffers,
    /// Other lengths of prompts, tokens.
    PromptsDiffer { a: f64, b: f64 },
    /// Other lengths of replies, tokens.
    OutputsDiffer { a: f64, b: f64 },
    /// Requests came otherwise.
    ArrivalsDiffer,
    /// A file does not tell its model, failures or lengths.
    NotTold { what: &'static str },
}

impl Difference {
    /// The best grade of a ratio with it; `None` where the ratio would be of something else.
    pub(super) fn grade(&self) -> Option<Grade> {
        match self {
            Self::ModelDiffers { .. } | Self::FailuresDiffer { .. } => None,
            Self::OutputsDiffer { .. } | Self::NotTold { .. } => Some(Grade::B),
            _ => Some(Grade::C),
        }
    }

    /// Its code.
    pub(super) fn code(&self) -> &'static str {
        self.into()
    }

    /// All differences of two results, those that refuse first.
    pub(super) fn all(a: &ServeResult, b: &ServeResult) -> Vec<Self> {
        let is_limited = |one: &ServeResult| one.invalid().next().is_some();
        let both = |of: fn(&ServeResult) -> Option<f64>| of(a).zip(of(b));
        let failures = [a, b].map(failed);
        let in_flight = in_flight(a, b);
        let (inputs, outputs) = (
            both(ServeResult::input_each),
            both(ServeResult::output_each),
        );
        let models = a.run.model.as_deref().zip(b.run.model.as_deref());
        let untold = [
            ("model", models.is_none()),
            ("failures", a.run.failed.is_none() || b.run.failed.is_none()),
            ("prompt lengths", inputs.is_none()),
            ("requests in flight", both(ServeResult::in_flight).is_none()),
        ];
        let apart = |both: Option<(f64, f64)>, by: f64, difference: fn(f64, f64) -> Self| {
            let (a, b) = both.filter(|both| are_apart(*both, by))?;
            Some(difference(a, b))
        };
        let rules = [
            is_limited(a).then_some(Self::ClientLimited { of_a: true }),
            is_limited(b).then_some(Self::ClientLimited { of_a: false }),
            models
                .filter(|(a, b)| name(a) != name(b))
                .map(|(a, b)| Self::ModelDiffers {
                    a: a.to_owned(),
                    b: b.to_owned(),
                }),
            Some(failures)
                .filter(|[a, b]| a.max(*b) > FEW_FAILURES)
                .map(|[a, b]| Self::FailuresDiffer { a, b }),
            apart(in_flight, SAME_BATCH, |a, b| Self::BatchDiffers { a, b }),
            (a.run.streamed != b.run.streamed).then_some(Self::StreamingDiffers),
            apart(inputs, SAME, |a, b| Self::PromptsDiffer { a, b }),
            apart(outputs, SAME, |a, b| Self::OutputsDiffer { a, b }),
            other_arrivals(a, b).then_some(Self::ArrivalsDiffer),
        ];
        let untold = untold.into_iter().filter(|(_, is_untold)| *is_untold);
        let untold = untold.map(|(what, _)| Self::NotTold { what });
        rules.into_iter().flatten().chain(untold).collect()
    }
}

fn are_apart((a, b): (f64, f64), by: f64) -> bool {
    (a - b).abs() > by * a.max(b)
}

/// A name without the folder or organisation before it, in lower case.
fn name(model: &str) -> String {
    let path = model.trim_end_matches('/');
    path.rsplit('/').next().unwrap_or(path).to_lowercase()
}

fn failed(one: &ServeResult) -> f64 {
    let failed = one.run.failed.unwrap_or(0);
    failed as f64 / (one.run.completed + failed).max(1) as f64
}

/// In a closed loop the batch in flight must be the same; at the same rate it may differ, and all at once the requests must be as
/// many.
fn in_flight(a: &ServeResult, b: &ServeResult) -> Option<(f64, f64)> {
    match a.run.request_rate_asked.zip(b.run.request_rate_asked) {
        Some((rate, _)) if rate.is_finite() => None,
        Some(_) => Some((a.run.completed as f64, b.run.completed as f64)),
        None => a.in_flight().zip(b.in_flight()),
    }
}

/// An open loop at another rate, or beside a closed loop. A file that says neither rate nor limit may be of either kind.
fn other_arrivals(a: &ServeResult, b: &ServeResult) -> bool {
    let (a, b) = (&a.run, &b.run);
    let is_told = [a, b].iter().all(|run| {
        let asked = run.request_rate_asked.or(run.concurrency_asked);
        asked.is_some()
    });
    let is_same = match (a.request_rate_asked, b.request_rate_asked) {
        (Some(a), Some(b)) if a.is_finite() && b.is_finite() => !are_apart((a, b), SAME),
        (a, b) => a == b,
    };
    is_told && !is_same
}
