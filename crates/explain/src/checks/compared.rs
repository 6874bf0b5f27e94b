//! What is compared: that the runs differ in the number of GPUs and in nothing else.

use import::ServeRun;

use super::run::TOLERANCE;
use crate::finding::{Finding, apart};
use crate::inputs::Inputs;
use crate::run_shape::RunShape;

/// Batches and lengths that differ.
pub(super) fn differing(inputs: &Inputs) -> Vec<Finding> {
    if inputs.runs(inputs.from()).count() == 0 || inputs.runs(inputs.tp).count() == 0 {
        return Vec::new();
    }
    let shapes: Vec<RunShape<'_>> = compared(inputs).map(RunShape::new).collect();
    let input: Vec<f64> = shapes.iter().filter_map(RunShape::input).collect();
    let output: Vec<f64> = shapes.iter().filter_map(RunShape::output).collect();
    let is_apart = |values: &[f64]| apart(values) > 1.0 + TOLERANCE;
    let lengths =
        (is_apart(&input) || is_apart(&output)).then_some(Finding::LengthsDiffer { input, output });
    batch_differs(compared(inputs))
        .into_iter()
        .chain(lengths)
        .collect()
}

/// Where these had not as many requests in flight.
pub(super) fn batch_differs<'a>(runs: impl Iterator<Item = &'a ServeRun>) -> Option<Finding> {
    let in_flight: Vec<f64> = runs
        .filter_map(|run| RunShape::new(run).in_flight())
        .collect();
    (apart(&in_flight) > 1.0 + TOLERANCE).then_some(Finding::BatchDiffers { in_flight })
}

/// Runs of the two sizes.
pub(super) fn used(inputs: &Inputs) -> impl Iterator<Item = &ServeRun> {
    let (from, several) = (inputs.from(), inputs.tp);
    let of_both = inputs
        .serve
        .iter()
        .filter(move |(tp, _)| *tp == from || *tp == several);
    of_both.map(|(_, run)| run)
}

/// Runs of the two sizes and of the shard.
pub(super) fn compared(inputs: &Inputs) -> impl Iterator<Item = &ServeRun> {
    used(inputs).chain(&inputs.evidence.half)
}
