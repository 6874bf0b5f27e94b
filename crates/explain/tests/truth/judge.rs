//! One case: what is true of each bar, and what the explanation says of it.

use engine::EngineError;
use explain::{Attribution, Claim, Priors, Range, attribute};

use super::machine::Truth;
use super::observe::inputs;

/// Enough that a quantile does not move by more than a hundredth of the interval.
const DRAWS: u32 = 1500;

/// A bar against its truth.
#[derive(Debug, Clone, Copy)]
pub(super) struct Judged {
    pub(super) bar: &'static str,
    pub(super) truth_ms: f64,
    pub(super) said_ms: Range,
}

/// What came of a case.
#[derive(Debug, Clone)]
pub(super) enum Case {
    /// The truth cannot be run: a model that cannot be cut so.
    Unfit,
    /// Nothing was attributed.
    Refused,
    /// Bars were.
    Judged {
        bars: Vec<Judged>,
        /// Whether communication was claimed.
        claimed: bool,
    },
}

/// Draws a truth, runs it, and judges what is said of it. Without communication the engine's collectives take no time.
pub(super) fn judge(
    seed: u64,
    priors: &Priors,
    broken: Option<Assumption>,
    with_communication: bool,
) -> Case {
    let Some(mut truth) = Truth::draw(seed, priors, broken) else {
        return Case::Unfit;
    };
    if !with_communication {
        // Nor anything else that only several GPUs have: what is left over has no cause, and any claim is false.
        (truth.in_situ, truth.other_us) = (0.0, 0.0);
    }
    let Ok(inputs) = inputs(&truth, priors, seed) else {
        return Case::Unfit;
    };
    let Ok(truths) = truths(&truth) else {
        return Case::Unfit;
    };
    match attribute(&inputs, seed, DRAWS) {
        Err(_) => Case::Refused,
        Ok(said) => Case::Judged {
            bars: bars(&said, &truths),
            claimed: !matches!(said.claim, Claim::None),
        },
    }
}

/// A bar's name and its truth, ms.
type Named = (&'static str, f64);

/// The truth of each bar, and the step on several GPUs.
fn truths(truth: &Truth) -> Result<Vec<Named>, EngineError> {
    let (one, several) = (truth.parts(1)?, truth.parts(truth.tp)?);
    let ranks = f64::from(truth.tp);
    let above = |several: f64, one: f64| (several - one / ranks) / 1e3;
    let whole = |attention: f64, elementwise: f64| attention + elementwise;
    let truths = vec![
        (NARROW, above(several.gemm_us, one.gemm_us)),
        (
            NEVER,
            above(
                whole(several.attention_us, several.elementwise_us),
                whole(one.attention_us, one.elementwise_us),
            ),
        ),
        (HOST, above(several.host_us - truth.other_us, one.host_us)),
        ("all-reduce", several.all_reduce_us / 1e3),
        ("all-gather", several.all_gather_us / 1e3),
        (
            COMMUNICATION,
            (several.all_reduce_us + several.all_gather_us) / 1e3,
        ),
        (UNEXPLAINED, truth.other_us / 1e3),
    ];
    Ok(truths)
}

const NARROW: &str = "narrow GEMMs";
const NEVER: &str = "never sharded";
const HOST: &str = "host";
pub(super) const COMMUNICATION: &str = "communication";
pub(super) const UNEXPLAINED: &str = "unexplained";

/// Every bar that has a truth, by its name, so that one that is split later is judged by its parts.
fn bars(said: &Attribution, truths: &[Named]) -> Vec<Judged> {
    let range = |name: &str| {
        // Communication is the sum of two bars, or one itself.
        let of_sum = (name == COMMUNICATION).then(|| said.bar(explain::Cause::Communication));
        let mut bars = said.bars.iter().chain(of_sum.flatten());
        Some(bars.find(|bar| named(bar.cause) == name)?.ms)
    };
    let host = truths.iter().find(|(name, _)| *name == HOST);
    let host_within = match range(HOST) {
        Some(_) => 0.0,
        None => host.map_or(0.0, |(_, ms)| *ms),
    };
    let estimated = said.claim == Claim::Estimated;
    truths
        .iter()
        // Where nothing is claimed, what is left holds communication, too, and is no bar of its own.
        .filter(|(name, _)| *name != UNEXPLAINED || estimated)
        .filter_map(|(name, ms)| {
            Some(Judged {
                bar: name,
                truth_ms: if *name == NEVER {
                    ms + host_within
                } else {
                    *ms
                },
                said_ms: range(name)?,
            })
        })
        .collect()
}

fn named(cause: explain::Cause) -> &'static str {
    match cause {
        explain::Cause::Ideal => "ideal",
        explain::Cause::NarrowGemm => NARROW,
        explain::Cause::Unsharded => NEVER,
        explain::Cause::Host => HOST,
        explain::Cause::AllReduce => "all-reduce",
        explain::Cause::AllGather => "all-gather",
        explain::Cause::Communication => COMMUNICATION,
        _ => UNEXPLAINED,
    }
}

/// An assumption of the explanation that is broken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Assumption {
    /// Priors' centres are off by a third of their half-width.
    PriorsShifted,
    /// The curve ends at 1/2 to 1/16 of the messages.
    CurveRange,
    /// 15% of collective time is hidden.
    Overlap,
}
