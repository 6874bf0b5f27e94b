//! The step of a size that was launched several times: its mean with the spread of the launches, and a word where they differ.
//!
//! It draws nothing of its own, and what is inferred from the step is not its business.

use super::draws::{Draw, range};
use super::step::StepTime;
use crate::finding::Finding;
use crate::range::Range;

/// Launches of one size that differ by more than this part are not of one state of the box.
const APART: f64 = 0.05;

/// The step of a size as it was measured: of one launch as its draws have it, of several their mean, with the interval of `draws`,
/// each of which is of one launch. Which draws fit the causes weighs the launches and would shift the middle.
#[expect(clippy::cast_precision_loss, reason = "draws are thousands")]
pub(super) fn of_launches(
    step: &StepTime,
    draws: &[Draw],
    of: fn(&Draw) -> f64,
    prefill_comm_ms: impl Fn(&Draw) -> f64,
) -> Option<Range> {
    let all = range(draws, of)?;
    if step.repeats() == 1 {
        return Some(all);
    }
    let means = draws
        .iter()
        .map(|draw| step.mean_of_runs(&draw.hand, prefill_comm_ms(draw)));
    Some(all.with_middle(means.sum::<f64>() / draws.len() as f64))
}

/// Where launches of a size are further apart than runs of one state of a server.
pub(super) fn launches_differ(tp: u32, step: &StepTime) -> Option<Finding> {
    let (least_ms, most_ms) = step.least_and_most_ms();
    let launches = step.repeats();
    (most_ms > least_ms * (1.0 + APART)).then_some(Finding::LaunchesDiffer {
        tp,
        least_ms,
        most_ms,
        launches,
    })
}
