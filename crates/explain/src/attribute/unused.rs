//! What was left out of the curves that were given. Which times are used is decided elsewhere.

use crate::finding::Finding;
use crate::inputs::Inputs;

/// Times that count for nothing here.
pub(crate) fn unused(inputs: &Inputs) -> Option<Finding> {
    let (of, points) = (inputs.curve.len(), inputs.usable_curve());
    let used = match points.iter().any(|point| point.ranks == inputs.tp) {
        true => points.len(),
        false => 0,
    };
    let points = of - used;
    (points > 0).then_some(Finding::CurveLeftOut { points, of })
}
