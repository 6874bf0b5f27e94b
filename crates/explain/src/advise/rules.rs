//! The table of rules, each with the cause that its advice acts on: advice stands in the order of what those causes take.

use super::advice::{Advice, Found, Rule};
use super::{communication, load};
use crate::attribute::{Attribution, Cause, Claim};
use crate::commands::Commands;
use crate::inputs::Inputs;

type Judge = fn(&Found) -> Option<Advice>;

/// What each rule says of what was found, nothing where it does not apply or nobody can tell, with the cause that its advice acts on, if
/// it acts on one alone. Of one cause the most certain stands first.
const RULES: [(Option<Cause>, Judge); 12] = [
    (Some(Cause::Communication), communication::through_host),
    (Some(Cause::Communication), communication::told_off),
    (Some(Cause::Communication), communication::gated),
    (Some(Cause::NarrowGemm), load::kernels),
    (Some(Cause::Communication), communication::trained_down),
    (Some(Cause::Communication), communication::other_pair),
    (Some(Cause::Communication), communication::by_flag),
    (Some(Cause::Host), load::eager),
    (Some(Cause::Host), load::threads_elsewhere),
    (None, load::nothing_to_gain),
    (None, load::replicas),
    // Other hardware, after what can be done today.
    (None, communication::mig),
];

/// What to do where one GPU is compared with several, first about what takes most of the time above the ideal. Links are advised on only where they are at fault or known
/// to be impossible.
#[must_use]
pub fn advise(inputs: &Inputs, attribution: &Attribution) -> Vec<Advice> {
    if attribution.from > 1 {
        return Vec::new();
    }
    let found = Found {
        inputs,
        attribution,
        commands: Commands::new(inputs),
    };
    // What rests on the shard run falls where that is contradicted.
    let by_half = |rule: &Rule| matches!(rule, Rule::KernelsFirst { .. } | Rule::NothingToGain);
    let is_settled =
        |advice: &Advice| !(attribution.is_half_contradicted() && by_half(&advice.rule));
    let all = RULES.iter().filter_map(|(acts_on, judge)| {
        let advice = judge(&found).filter(|advice| is_no_loss(advice) && is_settled(advice))?;
        Some((ms(*acts_on, attribution), advice))
    });
    let mut all: Vec<(f64, Advice)> = all.collect();
    all.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    all.into_iter().map(|(_, advice)| advice).collect()
}

/// What a cause takes of a step, ms, by which advice is ordered: what acts on none alone stands last.
fn ms(cause: Option<Cause>, attribution: &Attribution) -> f64 {
    let Some(cause) = cause else {
        return f64::NEG_INFINITY;
    };
    let bar = attribution.bar(cause).map(|bar| bar.ms.mid);
    match cause {
        Cause::Communication => bar
            .filter(|_| attribution.claim == Claim::Estimated)
            .unwrap_or(attribution.remainder.mid),
        _ => bar.unwrap_or(0.0),
    }
}

/// Whether it is no remedy that leaves several GPUs slower than one: one GPU alone gives more then.
fn is_no_loss(advice: &Advice) -> bool {
    let times = advice.effect.as_ref().map(|effect| effect.times.mid);
    // What nothing is to be gained by is told with how little that is.
    advice.rule == Rule::NothingToGain || times.is_none_or(|times| times >= 1.0)
}
