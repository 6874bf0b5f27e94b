//! The time of a decode step as a run of a pair shows it.

use measure::import::{ServeRun, Spread};
use measure::stats::Interval;

use crate::attribute::StepFrom;
use crate::gates::RunShape;

/// The mean decode step, ms; of a latency what falls to each output token.
pub(super) fn step_time(shape: &RunShape<'_>, run: &ServeRun, from: StepFrom) -> Option<Spread> {
    match from {
        StepFrom::DecodeGap => shape.decode_gap(),
        StepFrom::Tpot => run.tpot_ms,
        StepFrom::Latency => {
            let latency = run.e2el_ms?;
            let output = shape.output().filter(|output| *output >= 2.0)?;
            let each = |ms: f64| ms / output;
            Some(Spread {
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
    }
}
