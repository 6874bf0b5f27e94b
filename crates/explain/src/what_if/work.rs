//! From what is asked to what is put in, and from the draws to the answer.

use import::CurvePoint;
use record::{CollectiveKind, PeerVerdict};
use tp_plan::{CustomAllReduce, EngineFacts, OffCause, Surroundings};

use super::answer::{Answer, Substituted, WhatIf};
use super::asked::{By, Substitution};
use super::rate::LinkRate;
use crate::attribute::{Attribution, Bench, Claim, NoSubstitute, Step, Swap, Swapped};
use crate::inputs::{Inputs, PeerState, library_told_off};
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
        answered(bench, attribution, &one.by)
    };
    asked
        .iter()
        .map(|one| WhatIf {
            asked: one.asked.clone(),
            answer: match answer(one) {
                Ok(predicted) => Answer::Predicted {
                    predicted: Box::new(predicted),
                },
                Err(reason) => Answer::NotTold { reason },
            },
        })
        .collect()
}

fn answered(
    bench: &Bench,
    attribution: &Attribution,
    by: &By,
) -> Result<Substituted, NoSubstitute> {
    let put = put(bench.inputs(), by)?;
    let Swapped {
        steps,
        upper,
        assumed,
    } = bench.with(&put.swap)?;
    let range = |of: fn(&Step) -> f64| {
        let values: Vec<f64> = steps.iter().map(of).collect();
        Range::of(&values).ok_or(NoSubstitute::NoStep)
    };
    let change_ms = range(|step| step.after - step.before)?;
    // Of repeated launches a draw has one, and what fits weighs them: today is their mean, as the waterfall has it.
    let (of_one, today) = (attribution.step_of_one.mid, attribution.step_of_several);
    let mean = bench.is_repeated().then_some(today.mid + change_ms.mid);
    let around = |range: Range, middle: fn(f64, f64, f64) -> f64| {
        mean.map_or(range, |after| {
            range.with_middle(middle(of_one, today.mid, after))
        })
    };
    let step_ms = around(range(|step| step.after)?, |_, _, after| after);
    let upper: Vec<f64> = upper.iter().map(|step| step.one / step.after).collect();
    Ok(Substituted {
        taken_out: bench.taken_out(),
        taken_from: bench.taken_from(attribution),
        step_ms,
        change_ms,
        speed_up: around(range(|step| step.one / step.after)?, |one, _, after| {
            one / after
        }),
        gain: around(
            range(|step| step.before / step.after)?,
            |_, today, after| today / after,
        ),
        communication_ms: range(|step| step.communication)?,
        if_all_is_communication: Range::of(&upper),
        simulated: put.simulated,
        assumed: assumed.into_iter().map(|prior| prior.name).collect(),
    })
}

/// What to put in, with what to mind of it.
struct Put {
    swap: Swap,
    simulated: Option<String>,
}

impl Put {
    fn plain(swap: Swap) -> Self {
        Self {
            swap,
            simulated: None,
        }
    }
}

fn put(inputs: &Inputs, by: &By) -> Result<Put, NoSubstitute> {
    let scaling = |name: &str| inputs.prior(name).ok_or(NoSubstitute::PriorMissing);
    Ok(match by {
        By::AllReduceMicros(us) => Put::plain(Swap::Micros(*us)),
        By::AllReduceTimes(times) => Put::plain(Swap::Times {
            all_reduce: *times,
            all_gather: 1.0,
        }),
        By::CommunicationTimes(times) => Put::plain(Swap::Times {
            all_reduce: *times,
            all_gather: *times,
        }),
        By::Rate(ratio) => Put::plain(Swap::Link {
            ratio: *ratio,
            old_gb_per_s: inputs.seen.link(inputs.tp).map(|link| link.raw_gb_per_s()),
            prior: scaling("link_scaling")?,
        }),
        By::Link { old, new } => link(inputs, *old, *new)?,
        By::Engine(engine) => Put::plain(Swap::Engine(engine.clone())),
        By::PeerAccess => peers(inputs)?,
        By::Curve { points, here } => {
            let elsewhere = match here {
                true => None,
                false => Some(scaling("transfer_peer")?),
            };
            let mut other = inputs.clone();
            other.curve.clone_from(points);
            is_of_ranks(&other)?;
            curves(other, elsewhere)
        }
        By::Box { points, around, .. } => {
            let staged = around.peer_access == Some(false);
            let name_of = if staged {
                "transfer_staged"
            } else {
                "transfer_peer"
            };
            let mut other = inputs.clone();
            other.curve.clone_from(points);
            is_of_ranks(&other)?;
            for engine in &mut other.engines {
                if engine.tp == inputs.tp {
                    *engine = on_other_box(engine, around);
                }
            }
            let mut put = curves(other, Some(scaling(name_of)?));
            // A box file's figures are not a run of it.
            put.simulated = None;
            put
        }
    })
}

fn curves(inputs: Inputs, elsewhere: Option<crate::priors::Prior>) -> Put {
    let simulated = inputs
        .curve
        .iter()
        .find_map(|point| point.simulated.clone());
    Put {
        swap: Swap::Curves {
            inputs: Box::new(inputs),
            elsewhere,
        },
        simulated,
    }
}

/// Whether the curve in place of the box's own can be read at all; else a published one would stand in for it unasked.
fn is_of_ranks(other: &Inputs) -> Result<(), NoSubstitute> {
    let fits = |point: &CurvePoint| {
        let its = (point.kind, point.ranks, point.engine.is_none());
        its == (CollectiveKind::AllReduce, other.tp, true)
    };
    match other.usable_curve().iter().any(fits) {
        true => Ok(()),
        false => Err(NoSubstitute::OtherRanks),
    }
}

fn link(inputs: &Inputs, old: Option<LinkRate>, new: LinkRate) -> Result<Put, NoSubstitute> {
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
    let prior = inputs.prior(name).ok_or(NoSubstitute::PriorMissing)?;
    Ok(Put {
        swap: Swap::Link {
            ratio,
            old_gb_per_s: Some(old.gb_per_s()),
            prior,
        },
        simulated: None,
    })
}

/// The same GPUs with peer access, by what was published for them.
fn peers(inputs: &Inputs) -> Result<Put, NoSubstitute> {
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
    Ok(Put {
        swap: Swap::Curves {
            inputs: Box::new(other),
            elsewhere: None,
        },
        simulated: None,
    })
}

/// The engine with the paths that it would take on another box, unless a flag decides them.
fn on_other_box(engine: &EngineFacts, around: &Surroundings) -> EngineFacts {
    let there = EngineFacts::of(engine.engine, engine.tp, around);
    let by_flag = engine.custom_all_reduce.is_off_by(OffCause::Flag);
    let mut moved = engine.clone();
    if !by_flag {
        moved.custom_all_reduce = there.custom_all_reduce;
    }
    moved.vendor = there.vendor;
    moved.architecture = there.architecture;
    moved.full_nvlink = there.full_nvlink;
    moved
}
