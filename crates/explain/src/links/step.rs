//! The time of a decode step as a run of a pair shows it.

use import::{ServeRun, Spread};
use stats::Interval;

use crate::attribute::StepFrom;
use crate::run_shape::{RunShape, SEVERAL};

/// A time of a run.
#[derive(Debug, Clone, Copy)]
pub(super) struct RunTime {
    /// Its mean, ms, and what is known of its spread.
    pub(super) of: Spread,
    /// The part of it that other requests' prompts may take at most which no gap between tokens shows, 0 to 1.
    pub(super) unseen: f64,
}

impl From<Spread> for RunTime {
    /// A time without prompts of others.
    fn from(of: Spread) -> Self {
        Self { of, unseen: 0.0 }
    }
}

/// Whether a run's gaps between tokens are of single tokens, as far as it says.
pub(super) fn has_gaps_of_tokens(run: &ServeRun) -> bool {
    RunShape::new(run)
        .gap_in_tokens()
        .is_some_and(|tokens| tokens <= SEVERAL)
}

/// The mean decode step, ms; of a latency what falls to each output token. `by_first` bounds prompts in a time per token by the time to
/// first token whatever gaps show, for runs that are compared with others that have none.
pub(super) fn step_time(
    shape: &RunShape<'_>,
    run: &ServeRun,
    from: StepFrom,
    by_first: bool,
) -> Option<RunTime> {
    Some(match from {
        StepFrom::DecodeGap => shape.decode_gap()?.into(),
        StepFrom::Tpot => RunTime {
            of: run.tpot_ms?,
            // That nothing bounds it, a gate says.
            unseen: match by_first {
                true => shape.by_first_token(),
                false => shape.prompts_at_most(),
            }
            .unwrap_or(0.0),
        },
        StepFrom::Latency => {
            let latency = run.e2el_ms?;
            let output = shape.output().filter(|output| *output >= 2.0)?;
            let each = |ms: f64| ms / output;
            RunTime::from(Spread {
                n: latency.n,
                mean: each(latency.mean),
                mean_interval: latency.mean_interval.map(|interval| Interval {
                    low: each(interval.low),
                    high: each(interval.high),
                    ..interval
                }),
                median: latency.median.map(each),
                min: latency.min.map(each),
                max: latency.max.map(each),
                p99: latency.p99.map(each),
            })
        }
    })
}
