//! Whether what was measured on one GPU is of what is asked about: its step against the one that is predicted without it. It changes no
//! prediction.

use measure::import::ServeRun;

use super::inputs::PredictInputs;
use super::parts::Drawn;
use super::prepare::prepare;
use super::result::PredictError;
use crate::attribute::StepFrom;
use crate::gates::RunShape;
use crate::range::Range;

/// A measured step this many times as long or as short as its prediction is refused.
const FAR_OFF: f64 = 3.0;

/// So many draws give a middle that is compared with [`FAR_OFF`].
const FEW: u32 = 500;

/// Holds what was measured on one GPU against what would be predicted without it: of the whole model, and of a rank's share of it.
///
/// # Errors
/// They lie more than [`FAR_OFF`] times apart, so that the file is of something else, or what is known of the GPU is.
pub(super) fn far_off(inputs: &PredictInputs, seed: u64, draws: u32) -> Result<(), PredictError> {
    let middle = |of: &PredictInputs, tp: u32, part: fn(&Drawn) -> f64| {
        let prepared = prepare(of, tp).ok()?;
        let all: Vec<f64> = prepared
            .drawn(seed, draws.clamp(1, FEW))
            .iter()
            .map(part)
            .collect();
        Some(Range::of(&all)?.mid)
    };
    let mut alone = inputs.clone();
    alone.base.serve.clear();
    alone.half.clear();
    let mut of_one = alone.clone();
    of_one.base.serve.clone_from(&inputs.base.serve);
    if let Some(run) = inputs.base.runs(1).next() {
        let both = middle(&of_one, 1, Drawn::step).zip(middle(&alone, 1, Drawn::step));
        held(run, both, "this model, on this GPU and on one alone")?;
    }
    if let Some(run) = inputs.half.first() {
        let mut of_half = alone.clone();
        of_half.half.clone_from(&inputs.half);
        for tp in inputs.sizes.iter().filter(|tp| **tp > 1) {
            let both = middle(&of_half, *tp, Drawn::alone).zip(middle(&alone, *tp, Drawn::alone));
            let of = format!("a rank's share of this model at TP{tp}, on this GPU");
            held(run, both, &of)?;
        }
    }
    Ok(())
}

/// Refuses a file whose step and its prediction, both in ms, lie too far apart; `of` is what it should be of. Where one of the two is not
/// known there is nothing to hold.
fn held(run: &ServeRun, both: Option<(f64, f64)>, of: &str) -> Result<(), PredictError> {
    match both {
        Some((measured, predicted))
            if measured.max(predicted) > FAR_OFF * measured.min(predicted) =>
        {
            Err(PredictError::Refused {
                file: run.origin.clone(),
                reason: format!(
                    "{}, and without that file {predicted:.1} ms would be predicted, more than {FAR_OFF:.0} times apart: check that it is of {of}, that --model and --box are what was measured, and that times are in the unit that their names say",
                    own_time(run, measured)
                ),
            })
        }
        _ => Ok(()),
    }
}

/// The time that stands in the file, and the step of `step_ms` that is worked out from it where that is another.
fn own_time(run: &ServeRun, step_ms: f64) -> String {
    let shape = RunShape::new(run);
    let worked_out = format!("of which a step of {step_ms:.1} ms is worked out");
    let by_gap = shape.decode_gap().map(|gap| gap.mean);
    let by_token = run.tpot_ms.map(|each| each.mean);
    let by_latency = shape.latency_ms().zip(shape.output());
    match StepFrom::common(&[run]) {
        Some(StepFrom::DecodeGap) => {
            format!("its step takes {:.1} ms", by_gap.unwrap_or(step_ms))
        }
        Some(StepFrom::Tpot) => format!(
            "its time per token is {:.2} ms, {worked_out}",
            by_token.unwrap_or(step_ms)
        ),
        _ => match by_latency {
            Some((latency, output)) => {
                format!("its latency is {latency:.1} ms of {output:.0} output tokens, {worked_out}")
            }
            None => format!("its step takes {step_ms:.1} ms"),
        },
    }
}
