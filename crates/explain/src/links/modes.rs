//! What two sides are compared by: the same reading of a step on both.

use import::ServeRun;

use super::pair::Pair;
use super::step::has_gaps_of_tokens;
use crate::attribute::{StepFrom, step_from};

/// What both sides' steps are taken from.
pub(super) struct StepMode {
    pub(super) from: StepFrom,
    /// Whether prompts in a time per token are bounded by the time to first token on both sides, since gaps between tokens do not
    /// show them on both.
    pub(super) by_first: bool,
}

impl Pair<'_> {
    /// What every run of both sides tells of a decode step, the best first; `None` where one tells nothing.
    pub(super) fn step_mode(&self) -> Option<StepMode> {
        let sides: [Vec<&ServeRun>; 2] =
            self.sides().map(|inputs| inputs.runs(inputs.tp).collect());
        let all: Vec<&ServeRun> = sides.iter().flatten().copied().collect();
        let best = step_from(&all)?;
        let single = |runs: &[&ServeRun]| runs.iter().all(|run| has_gaps_of_tokens(run));
        let from = match best {
            // A gap of several tokens is no step.
            StepFrom::DecodeGap if !single(&all) => StepFrom::Tpot,
            best => best,
        };
        let by_first = from == StepFrom::Tpot && !single(&all);
        Some(StepMode { from, by_first })
    }
}
