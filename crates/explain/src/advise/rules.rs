//! The table of rules, in the order in which their advice is shown.

use super::advice::Advice;
use super::found::Found;
use super::{engine, links, load, peers};
use crate::attribute::Attribution;
use crate::inputs::Inputs;

/// What each rule says of what was found: nothing where it does not apply, or where nobody can tell.
const RULES: [fn(&Found) -> Vec<Advice>; 15] = [
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
    RULES.iter().flat_map(|judge| judge(&found)).collect()
}
