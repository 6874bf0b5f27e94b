//! What was left out of the curves that were given. Which times are used is decided elsewhere.

use crate::finding::{Finding, LeftOut};
use crate::inputs::Inputs;

/// Times that count for nothing here, by why.
pub(crate) fn unused(inputs: &Inputs) -> Vec<Finding> {
    let of = inputs.curve.len();
    let gpus = inputs.curve_of_gpus().count();
    let hidden = inputs
        .curve_of_gpus()
        .filter(|point| !point.is_above_zero())
        .count();
    let points = inputs.usable_curve();
    let others = match points.iter().any(|point| point.ranks == inputs.tp) {
        true => 0,
        false => points.len(),
    };
    let all = [
        (of - gpus, LeftOut::HostMemory),
        (hidden, LeftOut::ReachesZero),
        (others, LeftOut::OtherRanks),
    ];
    let left_out = all.into_iter().filter(|(points, _)| *points > 0);
    left_out
        .map(|(points, why)| Finding::CurveLeftOut { points, of, why })
        .collect()
}
