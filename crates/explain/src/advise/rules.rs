//! The table of rules, each with the cause that its advice acts on: advice stands in the order of what those causes take.

use super::advice::{Advice, Found, Rule};
use super::{communication, load};
use crate::attribute::{Attribution, Cause, Claim};
use crate::commands::Commands;
use crate::inputs::Inputs;

/// What advice acts on.
#[derive(Clone, Copy)]
enum ActsOn {
    /// What collectives take.
    Communication,
    /// What narrow GEMMs take.
    Kernels,
    /// What the host takes.
    Host,
    /// No cause alone: the number of GPUs and the load, after all that acts on one.
    Load,
}

type Judge = fn(&Found) -> Option<Advice>;

/// What each rule says of what was found: nothing where it does not apply, or where nobody can tell. Of one cause the most certain
/// stands first.
const RULES: [(ActsOn, Judge); 12] = [
    (ActsOn::Communication, communication::mig),
    (ActsOn::Communication, communication::through_host),
    (ActsOn::Communication, communication::told_off),
    (ActsOn::Communication, communication::gated),
    (ActsOn::Kernels, load::kernels),
    (ActsOn::Communication, communication::trained_down),
    (ActsOn::Communication, communication::other_pair),
    (ActsOn::Communication, communication::by_flag),
    (ActsOn::Host, load::eager),
    (ActsOn::Host, load::threads_elsewhere),
    (ActsOn::Load, load::nothing_to_gain),
    (ActsOn::Load, load::replicas),
];

/// What to do, first about what takes most of the time above the ideal. Links are advised on only where they are at fault or known
/// to be impossible.
#[must_use]
pub fn advise(inputs: &Inputs, attribution: &Attribution) -> Vec<Advice> {
    let found = Found {
        inputs,
        attribution,
        commands: Commands::new(inputs),
    };
    let is_settled =
        |advice: &Advice| !(attribution.is_half_contradicted() && advice.rule.is_by_half());
    let all = RULES.iter().filter_map(|(acts_on, judge)| {
        let advice = judge(&found).filter(|advice| is_no_loss(advice) && is_settled(advice))?;
        Some((acts_on.ms(attribution), advice))
    });
    let mut all: Vec<(f64, Advice)> = all.collect();
    all.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    all.into_iter().map(|(_, advice)| advice).collect()
}

impl ActsOn {
    /// What it takes of a step, ms, by which advice is ordered.
    fn ms(self, attribution: &Attribution) -> f64 {
        let bar = |cause| attribution.bar(cause).map(|bar| bar.ms.mid);
        match self {
            Self::Communication => bar(Cause::Communication)
                .filter(|_| attribution.claim == Claim::Estimated)
                .unwrap_or(attribution.remainder.mid),
            Self::Kernels => bar(Cause::NarrowGemm).unwrap_or(0.0),
            Self::Host => bar(Cause::Host).unwrap_or(0.0),
            Self::Load => f64::NEG_INFINITY,
        }
    }
}

/// Whether it is no remedy that leaves several GPUs slower than one: one GPU alone gives more then.
fn is_no_loss(advice: &Advice) -> bool {
    let times = advice.effect.as_ref().map(|effect| effect.times.mid);
    // What nothing is to be gained by is told with how little that is.
    advice.rule == Rule::NothingToGain || times.is_none_or(|times| times >= 1.0)
}
