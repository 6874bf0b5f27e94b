//! Prompts of other requests in a time per token that no gap between tokens shows: how much of the step they may take.

use import::ServeRun;

use super::step::StepTime;
use crate::run_shape::{MixedIn, RunShape};

/// A part of the time above the ideal from which on communication is a rough estimate.
const DOUBTFUL: f64 = 0.1;

/// So many requests in flight are one alone.
const ALONE: f64 = 1.05;

/// What prompts may take of the step on several GPUs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Unseen {
    /// At most, ms; `None` where nothing bounds it.
    pub(super) most_ms: Option<f64>,
    /// Whether it may be a tenth of the time above the ideal or more.
    pub(super) is_doubtful: bool,
}

impl Unseen {
    /// `None` where gaps between tokens show the prompts, or none can be in the step.
    pub(super) fn new(
        times: f64,
        one: &StepTime,
        several: &StepTime,
        runs: &[&ServeRun],
    ) -> Option<Self> {
        let hides =
            |run: &&ServeRun| !matches!(RunShape::new(run).mixed_in(), Some(MixedIn::ByGaps(_)));
        if !runs.iter().any(hides) {
            return None;
        }
        if runs.iter().any(|run| is_unbounded(run)) {
            return Some(Self {
                most_ms: None,
                is_doubtful: true,
            });
        }
        let (most_ms, _) = several.unseen_prompts()?;
        let excess = several.rough_ms() - one.rough_ms() / times;
        let is_doubtful = excess <= 0.0 || most_ms > DOUBTFUL * excess;
        Some(Self {
            most_ms: Some(most_ms),
            is_doubtful,
        })
    }
}

fn is_unbounded(run: &ServeRun) -> bool {
    let shape = RunShape::new(run);
    let flight = run.in_flight_wanted().or_else(|| shape.in_flight());
    shape.mixed_in().is_none() && flight.is_none_or(|flight| flight > ALONE)
}
