//! From what is asked to what is put in, and from the draws to the answer.

use import::CurvePoint;
use record::{CollectiveKind, PeerVerdict};
use tp_plan::{CustomAllReduce, EngineFacts, OffCause, Surroundings};

use super::answer::{Answer, Substituted, WhatIf};
use super::asked::{By, Substitution};
use super::rate::LinkRate;
use crate::attribute::{Attribution, Bench, Claim, NoSubstitute, Step, Swap};
use crate::inputs::{Inputs, PeerState, library_told_off};
use crate::priors::Prior;
use crate::range::Range;

/// What the step would take with each substitution; all of them have the attribution's draws.
#[must_use]
pub fn what_if(inputs: &Inputs, attribution: &Attribution, asked: &[Substitution]) -> Vec<WhatIf> {
    if asked.is_empty() {
        return Vec::new();
    }
    let bench = match &attribution.claim {
        // What cannot be distinguished from zero cannot be put in the place of anything.
        Claim::None => Err(NoSubstitute::CommunicationUnknown),
        Claim::Estimated | Claim::AtMost => {
            Bench::new(inputs, attribution).ok_or(NoSubstitute::NoStep)
        }
    };
    let answer = |one: &Substitution| {
        let bench = bench.as_ref().map_err(|why| *why)?;
        answered(bench, &one.by)
    };
    let what_if = |one: &Substitution| WhatIf {
        asked: one.asked.clone(),
        answer: match answer(one) {
            Ok(predicted) => Answer::Predicted {
                predicted: Box::new(predicted),
            },
            Err(reason) => Answer::NotTold { reason },
        },
    };
    asked.iter().map(what_if).collect()
}

fn answered(bench: &Bench, by: &By) -> Result<Substituted, NoSubstitute> {
    let swap = swap(bench.inputs(), by)?;
    let steps = bench.with(&swap)?;
    let range = |of: fn(&Step) -> f64| {
        let values: Vec<f64> = steps.iter().map(of).collect();
        Range::of(&values).ok_or(NoSubstitute::NoStep)
    };
    let points: &[CurvePoint] = match by {
        By::Curve { points } => points,
        _ => &[],
    };
    Ok(Substituted {
        taken_out: bench.taken_out(),
        step_ms: range(|step| step.after)?,
        change_ms: range(|step| step.after - step.before)?,
        speed_up: range(|step| step.one / step.after)?,
        gain: range(|step| step.before / step.after)?,
        communication_ms: range(|step| step.communication)?,
        simulated: points.iter().find_map(|point| point.simulated.clone()),
    })
}

fn swap(inputs: &Inputs, by: &By) -> Result<Swap, NoSubstitute> {
    let prior = |name: &str| inputs.prior(name).ok_or(NoSubstitute::NoStep);
    match by {
        By::AllReduceMicros(us) => Ok(Swap::Micros(*us)),
        By::CommunicationTimes(times) => Ok(Swap::Times(*times)),
        By::Link { old, new } => link(inputs, *old, *new),
        By::PeerAccess => peers(inputs),
        By::Curve { points } => curves(inputs, points, None, prior("transfer_peer")?),
        By::Box { points, around } => {
            let transfer = match around.peer_access {
                Some(false) => "transfer_staged",
                _ => "transfer_peer",
            };
            curves(inputs, points, Some(around), prior(transfer)?)
        }
    }
}

/// These inputs with other curves, of a box with other surroundings where they are given.
fn curves(
    inputs: &Inputs,
    points: &[CurvePoint],
    around: Option<&Surroundings>,
    elsewhere: Prior,
) -> Result<Swap, NoSubstitute> {
    let mut other = inputs.clone();
    other.curve = points.to_vec();
    let fits = |point: &CurvePoint| {
        let its = (point.kind, point.ranks, point.engine.is_none());
        its == (CollectiveKind::AllReduce, inputs.tp, true)
    };
    if !other.usable_curve().iter().any(fits) {
        return Err(NoSubstitute::OtherRanks);
    }
    let mut engines = other.engines.iter_mut();
    if let (Some(around), Some(engine)) = (around, engines.find(|of| of.tp == inputs.tp)) {
        *engine = on_other_box(engine, around);
    }
    Ok(Swap::Curves {
        inputs: Box::new(other),
        elsewhere: Some(elsewhere),
    })
}

/// Another link, in the place of the one that was named or read under load.
fn link(inputs: &Inputs, old: Option<LinkRate>, new: LinkRate) -> Result<Swap, NoSubstitute> {
    let seen = inputs.seen.link(inputs.tp).map(LinkRate::Pcie);
    let seen = seen.filter(|_| !inputs.around.full_nvlink);
    let old = old.or(seen).ok_or(NoSubstitute::LinkUnknown)?;
    let ratio = new.gb_per_s() / old.gb_per_s();
    if (ratio - 1.0).abs() < 1e-9 {
        return Err(NoSubstitute::SameLink);
    }
    let name = match new.is_like(old) {
        true => "link_scaling",
        false => "link_scaling_other_kind",
    };
    Ok(Swap::Link {
        ratio,
        old_gb_per_s: old.gb_per_s(),
        prior: inputs.prior(name).ok_or(NoSubstitute::NoStep)?,
    })
}

/// Peer access where there is none: published curves of these GPUs with it, and the engine's own all-reduce where peers kept it off.
fn peers(inputs: &Inputs) -> Result<Swap, NoSubstitute> {
    if inputs.peer_state() == PeerState::Direct && library_told_off(inputs).is_none() {
        return Err(NoSubstitute::PeersAlready);
    }
    let mut other = inputs.clone();
    other.curve.clear();
    other.around.peer_access = Some(true);
    other.around.no_peer_reason.clear();
    other.known.mig = false;
    other.known.peers = vec![PeerVerdict::Direct];
    for engine in &mut other.engines {
        if engine.custom_all_reduce.is_off_by(OffCause::NoPeers) {
            engine.custom_all_reduce = CustomAllReduce::Active;
        }
    }
    Ok(Swap::Curves {
        inputs: Box::new(other),
        elsewhere: None,
    })
}

/// The same engine on another box: what it does there by itself, and what it was told here.
fn on_other_box(engine: &EngineFacts, around: &Surroundings) -> EngineFacts {
    let there = EngineFacts::of(engine.engine, engine.tp, around);
    let custom_all_reduce = match engine.custom_all_reduce.is_off_by(OffCause::Flag) {
        true => engine.custom_all_reduce.clone(),
        false => there.custom_all_reduce,
    };
    EngineFacts {
        custom_all_reduce,
        vendor: there.vendor,
        architecture: there.architecture,
        full_nvlink: there.full_nvlink,
        ..engine.clone()
    }
}
