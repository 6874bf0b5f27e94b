//! Gates on what stands beside the runs: clocks, the way of the collectives, and the half-width model.

use measure::import::ServeRun;

use super::checks::Open;
use super::gate::Gate;
use super::shape::RunShape;
use crate::inputs::{Inputs, PeerState};

/// So many readings may show clocks held down, as a part of all.
const FEW: f64 = 0.05;

/// What an operator or a card's limit sets for good: the clocks are lower in all runs alike, or not, which nobody checked.
const STEADY: [&str; 4] = [
    "software power cap",
    "applications clocks setting",
    "display clocks setting",
    "sync boost",
];

/// A half-width model is no faster than this part of its share: narrow GEMMs gain no more than their width.
const LEAST_SHARE: f64 = 0.95;

/// A step at half width may lie this far above the one on several GPUs, as two measurements of one thing do.
const NOISE: f64 = 0.02;

/// Whether the clocks were free during a run.
pub(super) fn unthrottled(inputs: &Inputs, run: &ServeRun) -> Gate {
    let gate = Open::new(
        "no throttling",
        "heat and brakes hold no clock down during the load, or the step is that of the cooling",
        "run serve-bench run --monitor beside the load; cool the GPUs or lower their power limit, and run again",
    );
    let seen = inputs.evidence.throttle.iter();
    let Some(seen) = seen.into_iter().find(|seen| seen.origin == run.origin) else {
        return gate.is(None, "no monitor ran beside the load");
    };
    #[expect(clippy::cast_precision_loss, reason = "readings of one run")]
    let share = seen.slowed as f64 / seen.readings.max(1) as f64;
    let words = format!(
        "{} of {} readings show clocks held down ({})",
        seen.slowed,
        seen.readings,
        seen.reasons.join(", ")
    );
    if share <= FEW {
        let words = if seen.slowed == 0 {
            format!("none of {} readings shows clocks held down", seen.readings)
        } else {
            words
        };
        return gate.is(Some(true), words);
    }
    let is_steady = |reason: &String| STEADY.contains(&reason.as_str());
    let steady = seen.reasons.iter().all(is_steady);
    gate.is((!steady).then_some(false), words)
}

/// Whether the way of the collectives is known, and can be.
pub(super) fn transport(inputs: &Inputs) -> Gate {
    let gate = Open::new(
        "transport proven",
        "the collective library said what it goes over, and the GPUs allow it",
        "run allreduce-bench, which reads it off a logged run, or look for `via` in the engine's log with NCCL_DEBUG=INFO",
    );
    match &inputs.evidence.transport {
        None => gate.is(None, "no file says what the library goes over"),
        Some(via) => {
            // As NCCL writes it, `P2P/CUMEM`; the name of an arm may hold the word too.
            let direct = via.split([' ', ',']).any(|word| word.starts_with("P2P"));
            let impossible = direct && inputs.peer_state() == PeerState::Denied;
            let words = if impossible {
                format!("{via}, while the GPUs cannot reach each other: the files are of two boxes")
            } else {
                via.clone()
            };
            gate.is(Some(!impossible), words)
        }
    }
}

/// Whether the half-width model, which was run, is what it should be.
pub(super) fn half_width(inputs: &Inputs) -> Gate {
    let tp = inputs.tp;
    let gate = Open::new(
        "half-width model",
        format!(
            "a step at 1/{tp} of the width on one GPU lies between 1/{tp} of TP1's and TP{tp}'s, within what two runs differ by"
        ),
        format!(
            "serve on one GPU a model with 1/{tp} of the heads, key-value heads, feed-forward width and vocabulary, at the same batch and lengths"
        ),
    );
    let steps = |runs: &mut dyn Iterator<Item = &ServeRun>| -> Vec<f64> {
        runs.filter_map(|run| RunShape::new(run).rough_step_ms())
            .collect()
    };
    let halves = steps(&mut inputs.evidence.half.iter());
    let least = |steps: Vec<f64>| steps.into_iter().reduce(f64::min);
    let most = |steps: Vec<f64>| steps.into_iter().reduce(f64::max);
    let (Some(half), Some(one), Some(several)) = (
        least(halves),
        least(steps(&mut inputs.runs(1))),
        most(steps(&mut inputs.runs(tp))),
    ) else {
        return gate.is(None, "a run shows no time of a step");
    };
    let share = one / f64::from(tp);
    let seen = format!("{half:.1} ms, 1/{tp} of TP1's {share:.1} ms, TP{tp}'s {several:.1} ms");
    gate.is(
        Some(half >= share * LEAST_SHARE && half <= several * (1.0 + NOISE)),
        seen,
    )
}
