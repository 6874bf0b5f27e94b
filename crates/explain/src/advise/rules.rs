//! The table of rules, in the order in which their advice is shown.

use super::advice::{Advice, Rule};
use super::found::Found;
use super::{engine, links, load, peers};
use crate::attribute::Attribution;
use crate::inputs::Inputs;

/// What each rule says of what was found: nothing where it does not apply, or where nobody can tell.
const RULES: [fn(&Found) -> Vec<Advice>; 16] = [
    load::mixed_up,
    peers::mig,
    peers::denied,
    peers::staged,
    peers::told_off,
    engine::gated,
    load::kernels,
    links::trained_down,
    links::other_pair,
    engine::by_flag,
    engine::eager,
    load::threads_elsewhere,
    engine::padded,
    load::bound_too_low,
    load::nothing_to_gain,
    load::replicas,
];

/// What to do, the most certain first. Links are advised on only where they are at fault or known to be impossible.
#[must_use]
pub fn advise(inputs: &Inputs, attribution: &Attribution) -> Vec<Advice> {
    let found = Found {
        inputs,
        attribution,
    };
    let all = RULES.iter().flat_map(|judge| judge(&found));
    all.filter(is_no_loss).collect()
}

/// Whether it is no remedy that leaves several GPUs slower than one: one GPU alone gives more then.
fn is_no_loss(advice: &Advice) -> bool {
    let times = advice.effect.as_ref().map(|effect| effect.times.mid);
    // What nothing is to be gained by is told with how little that is.
    advice.rule == Rule::NothingToGain || times.is_none_or(|times| times >= 1.0)
}
