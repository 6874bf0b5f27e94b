//! What to measure next: what narrows the interval of communication as it is reported by the most ms a minute first; then
//! what would give communication a figure of its own whose width nothing tells beforehand.
//!
//! Reported is the bar of communication where there is one, whatever its grade, else all that the other causes leave. A
//! measurement narrows that interval by the first-order share of its variance that it settles, or puts another reading in its
//! place: the half-width model all that is left with its losses known, a trace or a curve of this box its own times. What was
//! given already is not asked for.

use super::candidates::{Candidate, candidates, share};
use super::reported::{Gives, Reported, WORTH};
use super::step::{Narrowing, NextStep};
use crate::attribute::Attribution;
use crate::inputs::Inputs;

/// Measurements by how much they narrow the reported interval a minute; behind them those that would give communication a figure of its
/// own, the cheapest first.
#[must_use]
pub fn next(inputs: &Inputs, attribution: &Attribution) -> Vec<NextStep> {
    let reported = Reported::of(attribution);
    let step = |of: Candidate| {
        let share = share(attribution, of.settles)?;
        let settled = |part: f64| reported.width() * (1.0 - reported.settled(share) * part).sqrt();
        let after_ms = match of.gives {
            Gives::Part(part) => Some(settled(part)),
            Gives::Reading(width) => Some(width),
            Gives::Another => None,
        };
        let now_ms = reported.width();
        let narrows = after_ms.map(|after_ms| Narrowing {
            share: (1.0 - (after_ms / now_ms).powi(2)).max(0.0),
            now_ms,
            after_ms,
        });
        let is_worth_it = narrows.is_none_or(|of| of.after_ms <= WORTH * of.now_ms);
        let step = NextStep {
            share,
            measure: of.measure,
            commands: of.commands,
            narrows,
            minutes: Some(of.minutes),
        };
        is_worth_it.then_some(step)
    };
    let mut steps: Vec<NextStep> = candidates(inputs, attribution, reported)
        .into_iter()
        .filter_map(step)
        .collect();
    steps.sort_by(|a, b| {
        let by_pace = pace(b).total_cmp(&pace(a));
        by_pace.then(minutes(a).total_cmp(&minutes(b)))
    });
    steps
}

fn pace(step: &NextStep) -> f64 {
    let narrowed = |of: Narrowing| (of.now_ms - of.after_ms) / minutes(step);
    step.narrows.map_or(0.0, narrowed)
}

fn minutes(step: &NextStep) -> f64 {
    step.minutes.unwrap_or(f64::MAX)
}
