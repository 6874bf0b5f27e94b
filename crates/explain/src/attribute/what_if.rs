//! The step with something else in place of its collectives: what is asked, as the command line says it, and the answer in the draws of
//! the attribution, so that what does not change is common to both, and differences are as narrow as what is known of the change.
//!
//! What a curve leaves unexplained stays; communication is never below zero. Prefill is left as it is.

use import::CurvePoint;
use record::{CollectiveKind, PeerVerdict, PlannedCollective};
use serde::{Deserialize, Serialize};
use stats::SplitMix;
use topology::PcieLink;
use tp_plan::{CustomAllReduce, OffCause, plan};

use super::cost::{Curves, Sent, Term, settle};
use super::deck::{Deck, Knob};
use super::draws::Draw;
use super::prepare::{Prepared, of_fewer, prepare};
use super::result::{Attribution, Claim};
use crate::finding::Finding;
use crate::inputs::{Inputs, PeerState, library_told_off};
use crate::priors::Prior;
use crate::range::Range;

/// What tells the draws of a substitute from those of the attribution, which has the same seed.
const APART: u64 = 0x7768_6174_2069_6621;

/// What stands in place of the collectives.
#[derive(Debug, Clone, PartialEq)]
pub enum By {
    /// A curve that was measured.
    Curve {
        /// Its times.
        points: Vec<CurvePoint>,
    },
    /// Another link; what it takes the place of is read from the box where it is not said.
    Link {
        /// The link that the runs had.
        old: Option<PcieLink>,
        /// The link instead.
        new: PcieLink,
    },
    /// Peer access between the GPUs, by what was published for them.
    PeerAccess,
}

impl std::str::FromStr for By {
    type Err = WhatIfError;

    /// `link=gen4x8`, `link=gen4x16:gen4x8` or `p2p=on`; what names files is the caller's.
    fn from_str(text: &str) -> Result<Self, WhatIfError> {
        let of_link = || {
            let value = text.strip_prefix("link=")?;
            let (old, new) = match value.split_once(':') {
                Some((old, new)) => (Some(link(old)?), link(new)?),
                None => (None, link(value)?),
            };
            Some(Self::Link { old, new })
        };
        match text {
            "p2p=on" => Ok(Self::PeerAccess),
            _ => of_link().ok_or_else(|| WhatIfError(text.to_owned())),
        }
    }
}

/// A link by its name, such as `gen4x8`.
fn link(name: &str) -> Option<PcieLink> {
    let (generation, width) = name.strip_prefix("gen")?.split_once('x')?;
    PcieLink::new(generation.parse().ok()?, width.parse().ok()?).ok()
}

/// Something that cannot be asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0} is nothing that can be put in; give curve=FILE, link=NEW, link=OLD:NEW (such as gen5x16:gen4x8), p2p=on"
)]
pub struct WhatIfError(String);

/// What was taken out of the step before the substitute was put in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CommunicationFrom {
    /// What a curve gives, of this box or published; what is unexplained stays.
    Curve,
    /// What the half-width model leaves.
    HalfModel,
    /// All that the other causes leave, there being no curve, so that gains are upper figures.
    Remainder,
}

/// Why nothing can be put in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NoSubstitute {
    /// Nothing is known of the communication that it would replace.
    CommunicationUnknown,
    /// There is no curve of so many ranks to read from.
    NoCurve,
    /// The curve ends too far from the model's sizes.
    CurveTooFar,
    /// Which link these GPUs have is not known.
    LinkUnknown,
    /// It is what these GPUs have.
    Same,
}

/// One substitution and what it would give, or why nothing is told.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WhatIf {
    /// As it was asked for, such as `link=gen4x8`.
    pub asked: String,
    /// What comes of it.
    pub answer: Result<Substituted, NoSubstitute>,
}

/// A decode step with the substitute; what did not change has the draws of the attribution.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Substituted {
    /// What was taken out.
    pub taken_out: CommunicationFrom,
    /// The decode step, which is the time per output token, ms.
    pub step_ms: Range,
    /// That less the step as it is, ms.
    pub change_ms: Range,
    /// Speed-up over the step of one GPU.
    pub speed_up: Range,
    /// The simulated machine behind the substitute.
    pub simulated: Option<String>,
}

/// What the step would take with that, in the attribution's draws.
///
/// # Errors
/// Nothing is known of what it would replace, or of what it is.
pub fn what_if(
    inputs: &Inputs,
    attribution: &Attribution,
    by: &By,
) -> Result<Substituted, NoSubstitute> {
    let unknown = NoSubstitute::CommunicationUnknown;
    // What cannot be distinguished from zero cannot be put in the place of anything.
    if attribution.claim == Claim::None {
        return Err(unknown);
    }
    let bench = Bench::new(inputs, attribution).ok_or(unknown)?;
    let mut simulated = None;
    let steps = match by {
        By::Link { old, new } => bench.linked_by(*old, *new)?,
        By::PeerAccess => bench.with_peers()?,
        By::Curve { points } => {
            simulated = points.iter().find_map(|point| point.simulated.clone());
            bench.with_points(points)?
        }
    };
    let range = |of: fn(&Step) -> f64| {
        let values: Vec<f64> = steps.iter().map(of).collect();
        Range::of(&values).ok_or(unknown)
    };
    Ok(Substituted {
        taken_out: bench.taken_out,
        step_ms: range(|step| step.after)?,
        change_ms: range(|step| step.after - step.before)?,
        speed_up: range(|step| step.one / step.after)?,
        simulated,
    })
}

/// A step in a draw, ms, as it is and with the substitute.
struct Step {
    /// On one GPU.
    one: f64,
    /// On several, as it is.
    before: f64,
    /// On several with the substitute.
    after: f64,
}

/// The draws of an attribution, ready for substitutes.
struct Bench<'a> {
    inputs: &'a Inputs,
    prepared: Prepared<'a>,
    eager: bool,
    seed: u64,
    /// What communication is in a draw.
    taken_out: CommunicationFrom,
    draws: Vec<Draw>,
}

impl<'a> Bench<'a> {
    /// `None` where the attribution is not one of these inputs.
    fn new(inputs: &'a Inputs, attribution: &Attribution) -> Option<Self> {
        let prepared = prepare(inputs, of_fewer(inputs).ok()?)?;
        let mut draws = prepared.draws(attribution.seed, attribution.draws.max(1));
        draws.retain(|draw| prepared.fits(draw));
        let is_estimated = attribution.claim == Claim::Estimated;
        let half = attribution.half.as_ref();
        let mut taken_out = match is_estimated {
            false => CommunicationFrom::Remainder,
            true if half.is_some_and(|half| !half.is_contradicted()) => {
                CommunicationFrom::HalfModel
            }
            true => CommunicationFrom::Curve,
        };
        if taken_out == CommunicationFrom::Curve && !attribution.is_measured() {
            let fits = |draw: &&Draw| prepared.leaves_room(draw);
            let fitting: Vec<Draw> = draws.iter().filter(fits).copied().collect();
            match fitting.is_empty() {
                true => taken_out = CommunicationFrom::Remainder,
                false => draws = fitting,
            }
        }
        (!draws.is_empty()).then_some(Self {
            inputs,
            eager: inputs.is_eager(prepared.workload.model.batch),
            seed: attribution.seed ^ APART,
            prepared,
            taken_out,
            draws,
        })
    }

    /// Another link, in the place of the one that was named or read under load: the bytes' part of each time is divided by the ratio of
    /// their rates, and multiplied by what is drawn from a prior.
    fn linked_by(&self, old: Option<PcieLink>, new: PcieLink) -> Result<Vec<Step>, NoSubstitute> {
        let inputs = self.inputs;
        let seen = inputs.seen.link(inputs.tp);
        let seen = seen.filter(|_| !inputs.around.full_nvlink);
        let old = old.or(seen).ok_or(NoSubstitute::LinkUnknown)?;
        let ratio = new.raw_gb_per_s() / old.raw_gb_per_s();
        if (ratio - 1.0).abs() < 1e-9 {
            return Err(NoSubstitute::Same);
        }
        let prior = inputs.prior("link_scaling");
        let prior = prior.ok_or(NoSubstitute::CommunicationUnknown)?;
        let wire = self.wire();
        Ok(self.steps(|draw, now, random| {
            let (part, factor) = (random.uniform(), prior.at(random.uniform()));
            let beyond = random.uniform();
            self.linked(draw, now, &wire, (part, beyond), factor / ratio)
        }))
    }

    /// Peer access where there is none: published curves of these GPUs with it, and the engine's own all-reduce where peers kept it off.
    fn with_peers(&self) -> Result<Vec<Step>, NoSubstitute> {
        let inputs = self.inputs;
        if inputs.peer_state() == PeerState::Direct && library_told_off(inputs).is_none() {
            return Err(NoSubstitute::Same);
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
        self.with_curves(&other, None)
    }

    /// Times of another box.
    fn with_points(&self, points: &[CurvePoint]) -> Result<Vec<Step>, NoSubstitute> {
        let inputs = Inputs {
            curve: points.to_vec(),
            ..self.inputs.clone()
        };
        let is_own = |point: &CurvePoint| {
            let its = (point.kind, point.ranks, point.engine.is_none());
            its == (CollectiveKind::AllReduce, inputs.tp, true)
        };
        // What was published is no curve that was given.
        if !inputs.usable_curve().iter().any(is_own) {
            return Err(NoSubstitute::NoCurve);
        }
        self.with_curves(&inputs, inputs.prior("transfer_peer").as_ref())
    }

    /// The step of every draw with other curves, and an engine that fits them; `elsewhere` is the factor from box to box.
    ///
    /// # Errors
    /// There is no such curve, or it ends too far from the model's sizes.
    fn with_curves(
        &self,
        inputs: &Inputs,
        elsewhere: Option<&Prior>,
    ) -> Result<Vec<Step>, NoSubstitute> {
        let none = NoSubstitute::NoCurve;
        let engine = inputs.engine(inputs.tp).ok_or(none)?;
        let batch = self.prepared.workload.model.batch;
        let planned = plan(&inputs.model, engine, batch, None).collectives;
        let mut deck = Deck::new(inputs, self.eager).ok_or(none)?;
        let sent = Sent::of(inputs, self.eager, &planned, &mut deck).map_err(|why| match why {
            Finding::CurveTooFar { .. } => NoSubstitute::CurveTooFar,
            _ => none,
        })?;
        settle(&mut deck, inputs, sent.terms.iter()).ok_or(none)?;
        let own_deck = &self.prepared.deck;
        Ok(self.steps(|draw, _, random| {
            let factor = elsewhere.map(|prior| prior.at(random.uniform()));
            let own = deck.draw(random);
            // Factors of the same prior have the attribution's value.
            let get = |knob: &Knob| match own_deck.prior(*knob) == deck.prior(*knob) {
                true => draw.hand.get(*knob),
                false => own.get(*knob),
            };
            let us = |term: &Term| {
                let without: f64 = term.factors.iter().map(|knob| own.get(*knob)).product();
                let factor: f64 = term.factors.iter().map(get).product();
                term.us(&own) / without * factor
            };
            let ms = sent.terms.iter().map(us).sum::<f64>() / 1e3;
            // What may be hidden behind other work is so with any curve.
            let hidden = match sent.curves.is_own {
                true => draw.hand.get(Knob::Exposed),
                false => 1.0,
            };
            ms * hidden * factor.unwrap_or(1.0)
        }))
    }

    /// The step of every draw with what `new` gives in the place of communication, ms.
    fn steps(&self, new: impl Fn(&Draw, f64, &mut SplitMix) -> f64) -> Vec<Step> {
        let mut random = SplitMix::new(self.seed);
        let step = |draw: &Draw| {
            let now = match self.taken_out {
                CommunicationFrom::Curve => draw.communication.unwrap_or(0.0),
                CommunicationFrom::HalfModel | CommunicationFrom::Remainder => draw.remainder(),
            };
            let now = now.max(0.0);
            Step {
                one: draw.one,
                before: draw.several,
                after: draw.several - now + new(draw, now, &mut random),
            }
        };
        self.draws.iter().map(step).collect()
    }

    /// The least and most share of each planned collective's time that its bytes take, by its curve.
    fn wire(&self) -> Vec<(f64, f64)> {
        let planned = &self.prepared.step.collectives;
        let curves = Deck::new(self.inputs, self.eager)
            .and_then(|mut deck| Curves::choose(self.inputs, self.eager, planned, &mut deck))
            .filter(|_| self.prepared.workload.terms.is_some());
        let share = |of: &PlannedCollective| curves.as_ref()?.on_the_wire(of);
        let shares = planned.iter().map(|of| share(of).unwrap_or((0.0, 1.0)));
        shares.collect()
    }

    /// Communication on links whose bytes take `times` as long: what the curve has changes by its bytes, and what it leaves of `now`
    /// may change in proportion or not at all.
    fn linked(
        &self,
        draw: &Draw,
        now: f64,
        wire: &[(f64, f64)],
        (part, beyond): (f64, f64),
        times: f64,
    ) -> f64 {
        let terms = self.prepared.workload.terms.iter().flatten();
        let (mut old, mut new) = (0.0, 0.0);
        for (term, (least, most)) in terms.zip(wire) {
            let us = term.us(&draw.hand);
            let bytes = least + (most - least) * part;
            old += us;
            new += us * scaled(bytes, times);
        }
        if old <= 0.0 {
            // No curve: all of it is bytes, or none.
            return now * scaled(part, times);
        }
        let (by_curve, in_proportion) = ((new - old) / 1e3, now * (new / old - 1.0));
        (now + by_curve + (in_proportion - by_curve) * beyond).max(0.0)
    }
}

/// A time of which `part` is bytes, where bytes take `times` as long, over the time as it is.
fn scaled(part: f64, times: f64) -> f64 {
    1.0 - part + part * times
}

#[cfg(test)]
mod tests;
