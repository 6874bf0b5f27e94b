//! What two sides are compared by: the same reading of a step on both, and curves that were timed alike on both.

use import::{CurvePoint, ServeRun};
use record::{CallMode, CollectiveKind};

use super::pair::Pair;
use super::step::has_gaps_of_tokens;
use crate::attribute::{StepFrom, step_from};
use crate::inputs::Inputs;

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

    /// Both sides with the curves that were timed in modes that both have; `None` where they have none, or no others.
    pub(super) fn in_common_modes(&self) -> Option<[Inputs; 2]> {
        let is_curve = |inputs: &Inputs, of: &CurvePoint| {
            of.kind == CollectiveKind::AllReduce && of.ranks == inputs.tp
        };
        let [of_a, of_b] = self.sides().map(|inputs| -> Vec<Option<CallMode>> {
            let points = inputs.usable_curve();
            let of_curve = points.iter().filter(|of| is_curve(inputs, of));
            of_curve.map(|of| of.mode).collect()
        });
        let common = |mode: &Option<CallMode>| of_a.contains(mode) && of_b.contains(mode);
        let has_others = !of_a.iter().chain(&of_b).all(common);
        (of_a.iter().any(common) && has_others).then(|| {
            self.sides().map(|inputs| {
                let mut of_common = inputs.clone();
                of_common.curve.retain(|of| common(&of.mode));
                of_common
            })
        })
    }
}
