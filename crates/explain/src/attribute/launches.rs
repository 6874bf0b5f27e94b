//! The step of a size that was launched several times: its mean with the spread of the launches, and a word where they differ.
//!
//! It draws nothing of its own, and what is inferred from the step is not its business.

use super::draws::Draw;
use super::step::StepTime;
use super::work::range;
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

/// That launches of a size differ; `None` where they do not.
pub(super) fn launches_differ(tp: u32, step: &StepTime) -> Option<String> {
    let (least, most) = step.least_and_most_ms();
    (most > least * (1.0 + APART)).then(|| {
        format!(
            "launches of TP{tp} differ by {:.0}%: a step takes from {least:.1} to {most:.1} ms (n = {} launches), so that its mean is of no one state of the server; find what differs between them, and run again",
            (most / least - 1.0) * 100.0,
            step.repeats()
        )
    })
}
