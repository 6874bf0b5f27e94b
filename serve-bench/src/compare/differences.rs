//! In what two serving results differ beside their numbers: what makes them incomparable, and what a reader must know.

use import::serve::ServeResult;
use serde::Serialize;

/// How far lengths may lie apart and count as the same.
const SAME: f64 = 0.05;

/// How far the batch in flight may lie apart.
const SAME_BATCH: f64 = 0.10;

/// A larger part of failed requests leaves averages of survivors.
const FEW_FAILURES: f64 = 0.01;

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
    /// Whether a ratio would be of something else.
    pub(crate) fn refuses(&self) -> bool {
        matches!(
            self,
            Self::ModelDiffers { .. } | Self::FailuresDiffer { .. }
        )
    }

    /// Whether a ratio is of the load and of who answered.
    pub(crate) fn is_other_load(&self) -> bool {
        matches!(
            self,
            Self::ClientLimited { .. }
                | Self::BatchDiffers { .. }
                | Self::ArrivalsDiffer
                | Self::StreamingDiffers
                | Self::PromptsDiffer { .. }
        )
    }

    /// Whether replies are of other lengths, or something of the load is not in a file.
    pub(super) fn is_other_length(&self) -> bool {
        matches!(self, Self::OutputsDiffer { .. } | Self::NotTold { .. })
    }

    /// Its code.
    pub(crate) fn code(&self) -> &'static str {
        self.into()
    }

    /// All differences of two results, those that refuse first.
    pub(crate) fn all(a: &ServeResult, b: &ServeResult) -> Vec<Self> {
        let limited = |one: &ServeResult, of_a| {
            one.invalid()
                .next()
                .is_some()
                .then_some(Self::ClientLimited { of_a })
        };
        let prompts = apart(a.input_each(), b.input_each(), SAME);
        let outputs = apart(a.output_each(), b.output_each(), SAME);
        let told = [
            ("model", a.run.model.is_some() && b.run.model.is_some()),
            ("failures", a.run.failed.is_some() && b.run.failed.is_some()),
            (
                "prompt lengths",
                a.input_each().is_some() && b.input_each().is_some(),
            ),
            (
                "requests in flight",
                a.in_flight().is_some() && b.in_flight().is_some(),
            ),
        ];
        let untold = told.into_iter().filter(|(_, is_told)| !is_told);
        let rules = [
            limited(a, true),
            limited(b, false),
            model(a, b),
            failures(a, b),
            in_flight(a, b),
            (a.run.streamed != b.run.streamed).then_some(Self::StreamingDiffers),
            prompts.map(|(a, b)| Self::PromptsDiffer { a, b }),
            outputs.map(|(a, b)| Self::OutputsDiffer { a, b }),
            arrivals(a, b),
        ];
        let rules = rules.into_iter().flatten();
        rules
            .chain(untold.map(|(what, _)| Self::NotTold { what }))
            .collect()
    }
}

/// Both, where they lie apart.
fn apart(a: Option<f64>, b: Option<f64>, by: f64) -> Option<(f64, f64)> {
    let (a, b) = (a?, b?);
    ((a - b).abs() > by * a.max(b)).then_some((a, b))
}

/// Names without the folder or organisation before them, in lower case.
fn model(a: &ServeResult, b: &ServeResult) -> Option<Difference> {
    let (a, b) = (a.run.model.clone()?, b.run.model.clone()?);
    let name = |model: &str| {
        let path = model.trim_end_matches('/');
        path.rsplit('/').next().unwrap_or(path).to_lowercase()
    };
    (name(&a) != name(&b)).then_some(Difference::ModelDiffers { a, b })
}

#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
fn failures(a: &ServeResult, b: &ServeResult) -> Option<Difference> {
    let part = |one: &ServeResult| {
        let failed = one.run.failed.unwrap_or(0);
        failed as f64 / (one.run.completed + failed).max(1) as f64
    };
    let (a, b) = (part(a), part(b));
    (a.max(b) > FEW_FAILURES).then_some(Difference::FailuresDiffer { a, b })
}

/// In a closed loop the batch in flight must be the same; at the same rate it may differ, and all at once the requests must be as
/// many.
#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
fn in_flight(a: &ServeResult, b: &ServeResult) -> Option<Difference> {
    let rates = a.run.request_rate_asked.zip(b.run.request_rate_asked);
    let (a, b) = match rates {
        Some((rate, _)) if rate.is_finite() => return None,
        Some(_) => (Some(a.run.completed as f64), Some(b.run.completed as f64)),
        None => (a.in_flight(), b.in_flight()),
    };
    apart(a, b, SAME_BATCH).map(|(a, b)| Difference::BatchDiffers { a, b })
}

/// An open loop at another rate, or beside a closed loop.
fn arrivals(a: &ServeResult, b: &ServeResult) -> Option<Difference> {
    // A file that says neither rate nor limit may be of either kind.
    let is_told = |one: &ServeResult| {
        one.run
            .request_rate_asked
            .or(one.run.concurrency_asked)
            .is_some()
    };
    let is_same = match (a.run.request_rate_asked, b.run.request_rate_asked) {
        (None, None) => true,
        (Some(a), Some(b)) if a.is_finite() && b.is_finite() => {
            apart(Some(a), Some(b), SAME).is_none()
        }
        (Some(a), Some(b)) => a == b,
        _ => false,
    };
    (is_told(a) && is_told(b) && !is_same).then_some(Difference::ArrivalsDiffer)
}
