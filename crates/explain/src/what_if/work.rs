//! From what is asked to what is put in, and from the draws to the answer.

use measure::import::CurvePoint;
use measure::record::{CollectiveKind, PeerVerdict};
use tp_plan::{CustomAllReduce, EngineFacts, Surroundings};

use super::answer::{Answer, Substituted, WhatIf};
use super::asked::{By, Substitution};
use super::rate::LinkRate;
use crate::advise::library_told_off;
use crate::attribute::{Attribution, Bench, Claim, Step, Swap, Swapped};
use crate::inputs::{Inputs, PeerState};
use crate::range::Range;

/// What the step would take with each substitution; all of them have the attribution's draws.
#[must_use]
pub fn what_if(inputs: &Inputs, attribution: &Attribution, asked: &[Substitution]) -> Vec<WhatIf> {
    if asked.is_empty() {
        return Vec::new();
    }
    let bench = match &attribution.claim {
        // What cannot be told from nothing cannot be put in the place of anything.
        Claim::None { reason } => Err(format!(
            "nothing is known of the communication that it would replace: {reason}"
        )),
        Claim::Estimated | Claim::AtMost { .. } => {
            Bench::new(inputs, attribution).ok_or_else(|| "the runs show no step".to_owned())
        }
    };
    let answer = |one: &Substitution| {
        let bench = bench.as_ref().map_err(Clone::clone)?;
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

fn answered(bench: &Bench, attribution: &Attribution, by: &By) -> Result<Substituted, String> {
    let put = put(bench.inputs(), by)?;
    let Swapped {
        steps,
        upper,
        assumed,
        notes,
    } = bench.with(&put.swap)?;
    let none = || "no draw is left".to_owned();
    let range = |of: fn(&Step) -> f64| {
        let values: Vec<f64> = steps.iter().map(of).collect();
        Range::of(&values).ok_or_else(none)
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
    let today = match mean {
        Some(_) => today,
        None => range(|step| step.before)?,
    };
    let batch = f64::from(attribution.batch);
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
        tokens_per_s: rate(batch, &step_ms),
        today_tokens_per_s: Some(rate(batch, &today)),
        communication_ms: range(|step| step.communication)?,
        if_all_is_communication: Range::of(&upper),
        simulated: put.simulated,
        assumed: assumed.iter().map(ToString::to_string).collect(),
        notes: put.notes.into_iter().chain(notes).collect(),
    })
}

/// Tokens a second of so many sequences with a token of each in every step of so many ms.
fn rate(batch: f64, step_ms: &Range) -> Range {
    Range {
        low: batch * 1e3 / step_ms.high,
        mid: batch * 1e3 / step_ms.mid,
        high: batch * 1e3 / step_ms.low,
    }
}

/// What to put in, with what to mind of it.
struct Put {
    swap: Swap,
    simulated: Option<String>,
    notes: Vec<String>,
}

impl Put {
    fn plain(swap: Swap) -> Self {
        Self {
            swap,
            simulated: None,
            notes: Vec::new(),
        }
    }
}

fn put(inputs: &Inputs, by: &By) -> Result<Put, String> {
    let scaling = |name: &str| inputs.prior(name).ok_or_else(|| format!("no prior {name}"));
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
        By::Box {
            name,
            points,
            around,
        } => {
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
            put.notes.push(format!("times of the box file {name}, whose figures are published or assumed; the GPUs' own work stays as it was measured"));
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
        notes: Vec::new(),
    }
}

/// Whether the curve in place of the box's own can be read at all; else a published one would stand in for it unasked.
fn is_of_ranks(other: &Inputs) -> Result<(), String> {
    let fits = |point: &CurvePoint| {
        let its = (point.kind, point.ranks, point.engine.is_none());
        its == (CollectiveKind::AllReduce, other.tp, true)
    };
    match other.usable_curve().iter().any(fits) {
        true => Ok(()),
        false => Err(format!(
            "it holds no time above zero of the library's all-reduce of {} GPUs",
            other.tp
        )),
    }
}

fn link(inputs: &Inputs, old: Option<LinkRate>, new: LinkRate) -> Result<Put, String> {
    let seen = inputs.seen.link(inputs.tp).map(LinkRate::Pcie);
    let has_nvlink = inputs.around.full_nvlink;
    let old = old
        .or(seen.filter(|_| !has_nvlink))
        .ok_or_else(|| match has_nvlink {
            true => format!("these GPUs have NVLink, of which generation no file says: give both, such as link=nvlink4:{}", new.asked()),
            false => format!("which link these GPUs have is not known: give --links or --box, or both links, such as link=gen4x16:{}", new.asked()),
        })?;
    let ratio = new.gb_per_s() / old.gb_per_s();
    if (ratio - 1.0).abs() < 1e-9 {
        return Err(format!("{new} is the link that these GPUs have"));
    }
    let name = if new.is_like(old) {
        "link_scaling"
    } else {
        "link_scaling_other_kind"
    };
    let prior = inputs
        .prior(name)
        .ok_or_else(|| format!("no prior {name}"))?;
    let staged = matches!(inputs.peer_state(), PeerState::Denied | PeerState::Staged);
    let mut notes = vec![format!(
        "{old} to {new}: {:.1} to {:.1} GB/s in one direction; what does not grow with the bytes stays",
        old.gb_per_s(),
        new.gb_per_s()
    )];
    if staged && matches!(new, LinkRate::Nvlink(..)) {
        notes.push("these GPUs go through host memory now, and over NVLink they would not: an upper figure for the step".to_owned());
    }
    if inputs.tp > 2 && !new.is_like(old) {
        notes.push("more than two GPUs share their host's links and need not share NVLinks, which the rates do not tell: on published times of four GPUs steps to NVLink were read up to 2.6 times too slow".to_owned());
    }
    Ok(Put {
        swap: Swap::Link {
            ratio,
            old_gb_per_s: Some(old.gb_per_s()),
            prior,
        },
        simulated: None,
        notes,
    })
}

/// The same GPUs with peer access, by what was published for them.
fn peers(inputs: &Inputs) -> Result<Put, String> {
    if inputs.peer_state() == PeerState::Direct && library_told_off(inputs).is_none() {
        return Err("these GPUs reach each other's memory already".to_owned());
    }
    let mut other = inputs.clone();
    let notes = match inputs.is_mig() {
        true => vec![
            "between MIG instances this is impossible: it is of whole GPUs on a platform that allows it"
                .to_owned(),
        ],
        false => Vec::new(),
    };
    other.curve.clear();
    other.around.peer_access = Some(true);
    other.around.no_peer_reason.clear();
    other.known.mig = false;
    other.known.peers = vec![PeerVerdict::Direct];
    for engine in &mut other.engines {
        if let CustomAllReduce::Off { reason } = &engine.custom_all_reduce
            && is_for_lack_of_peers(reason)
        {
            engine.custom_all_reduce = CustomAllReduce::Active;
        }
    }
    Ok(Put {
        swap: Swap::Curves {
            inputs: Box::new(other),
            elsewhere: None,
        },
        simulated: None,
        notes,
    })
}

/// Whether the engine's own all-reduce is off for lack of peer access alone, in our words or in the engine's.
fn is_for_lack_of_peers(reason: &str) -> bool {
    let reason = reason.to_ascii_lowercase();
    reason.starts_with("no peer access") || reason.contains("p2p")
}

/// The engine with the paths that it would take on another box, unless a flag decides them.
fn on_other_box(engine: &EngineFacts, around: &Surroundings) -> EngineFacts {
    let there = match engine.engine {
        tp_plan::Engine::Vllm => EngineFacts::vllm(engine.tp, around),
        tp_plan::Engine::Sglang => EngineFacts::sglang(engine.tp, around),
    };
    let by_flag =
        matches!(&engine.custom_all_reduce, CustomAllReduce::Off { reason } if is_by_flag(reason));
    let mut moved = engine.clone();
    if !by_flag {
        moved.custom_all_reduce = there.custom_all_reduce;
    }
    moved.vendor = there.vendor;
    moved.architecture = there.architecture;
    moved.full_nvlink = there.full_nvlink;
    moved
}

/// Whether somebody switched the engine's own all-reduce off.
pub(crate) fn is_by_flag(reason: &str) -> bool {
    let reason = reason.to_ascii_lowercase().replace('-', "_");
    reason.contains("disable_custom_all_reduce")
}
