//! How fast more GPUs are against fewer: the one figure of two sizes that needs no curve. It says nothing of why.

use serde::{Deserialize, Serialize};

use super::measured::Measured;
use super::step::{RunTime, step_time};
use crate::attribute::{StepFrom, step_from};
use crate::finding::Finding;
use crate::inputs::Inputs;
use crate::random::Random;
use crate::range::Range;
use crate::run_shape::RunShape;

/// The steps of two sizes and their ratio.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct SizeRate {
    /// The step on fewer GPUs, ms.
    pub step_of_fewer: Range,
    /// The step on more, ms.
    pub step_of_more: Range,
    /// Speed-up of a step.
    pub speed_up: Range,
}

/// The inputs of one of several sizes.
pub(super) fn of_size(inputs: &Inputs, tp: u32) -> Inputs {
    Inputs {
        tp,
        serve: inputs.runs(tp).cloned().map(|run| (tp, run)).collect(),
        ..inputs.clone()
    }
}

/// What both sizes' steps are taken from; in words why nothing tells them.
pub(super) fn steps_from(fewer: &Inputs, more: &Inputs) -> Result<StepFrom, Finding> {
    let all: Vec<_> = fewer.runs(fewer.tp).chain(more.runs(more.tp)).collect();
    step_from(&all)
        .filter(|from| *from != StepFrom::Latency)
        .ok_or(Finding::NotStreamed)
}

/// Times of a step of one size.
pub(super) fn times(inputs: &Inputs, from: StepFrom) -> Vec<RunTime> {
    let runs = inputs.runs(inputs.tp);
    runs.filter_map(|run| step_time(&RunShape::new(run), run, from, false))
        .collect()
}

/// Draws of both sizes' steps; in words why there are none.
pub(super) fn measured(fewer: &Inputs, more: &Inputs) -> Result<(StepFrom, Measured), Finding> {
    let from = steps_from(fewer, more)?;
    let start = match more.is_on_cpus() {
        true => "start_to_start_on_cpus",
        false => "start_to_start",
    };
    Measured::new(more, start, &times(fewer, from), &times(more, from))
        .map(|measured| (from, measured))
        .ok_or(Finding::NoStepTime)
}

/// How fast more GPUs are against fewer; in words why that is not reported.
pub(super) fn rate(
    fewer: &Inputs,
    more: &Inputs,
    seed: u64,
    draws: u32,
) -> Result<SizeRate, Finding> {
    let (_, measured) = measured(fewer, more)?;
    let mut random = Random::new(seed);
    let drawn: Vec<(f64, f64)> = (0..draws.max(1))
        .map(|_| measured.draw(&mut random))
        .collect();
    let range = |of: fn(&(f64, f64)) -> f64| {
        let values: Vec<f64> = drawn.iter().map(of).collect();
        Range::of(&values).ok_or(Finding::NoStepTime)
    };
    Ok(SizeRate {
        step_of_fewer: range(|(fewer, _)| *fewer)?,
        step_of_more: range(|(_, more)| *more)?,
        speed_up: range(|(fewer, more)| fewer / more)?,
    })
}
