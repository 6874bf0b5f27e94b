//! What was left out of the curves that were given, in words. Which times are used is decided elsewhere.

use crate::contradiction::contradicted;
use crate::inputs::Inputs;

/// Curves that were given and not used, and why; and what contradicts itself in those that were.
pub(crate) fn unused(inputs: &Inputs) -> Vec<String> {
    let mut words = Vec::new();
    if inputs.curve_of_gpus().count() < inputs.curve.len() {
        words.push(
            "times of ranks in host memory are no curve of GPUs, nor of an engine's own collectives: left out"
                .to_owned(),
        );
    }
    words.extend(hidden(inputs));
    words.extend(contradicted(inputs));
    let points = inputs.usable_curve();
    if !points.is_empty() && points.iter().all(|point| point.ranks != inputs.tp) {
        let mut ranks: Vec<u32> = points.iter().map(|point| point.ranks).collect();
        ranks.sort_unstable();
        ranks.dedup();
        let ranks: Vec<String> = ranks.iter().map(u32::to_string).collect();
        words.push(format!(
            "the curve is of {} ranks and not of {}: left out",
            ranks.join(" and "),
            inputs.tp
        ));
    }
    words
}

/// Times that are not told from none at all, counted.
fn hidden(inputs: &Inputs) -> Option<String> {
    let all = inputs.curve_of_gpus().count();
    let mut modes: Vec<String> = Vec::new();
    let mut count = 0;
    for point in inputs
        .curve_of_gpus()
        .filter(|point| !point.is_above_zero())
    {
        count += 1;
        let mode = point
            .mode
            .map_or("no stated mode".to_owned(), |mode| mode.to_string());
        if !modes.contains(&mode) {
            modes.push(mode);
        }
    }
    (count > 0).then(|| {
        format!(
            "{count} of {all} times of the curve ({}) have intervals that reach 0, so that the gap hides the call: left out; measure again with a smaller --gap or more --samples",
            modes.join(" and ")
        )
    })
}
