//! The step with something else in place of its collectives, in the draws of the attribution: what does not change is common
//! to both, so that differences are as narrow as what is known of the change.
//!
//! What a curve leaves unexplained stays; communication is never below zero. Prefill is left as it is.

use record::PlannedCollective;
use serde::{Deserialize, Serialize};
use tp_plan::plan;

use super::cost::{Curves, Sent, Term, settle};
use super::deck::{Deck, Knob};
use super::draws::Draw;
use super::prepare::{Prepared, of_fewer, prepare};
use super::result::{Attribution, Claim};
use crate::finding::Finding;
use crate::inputs::Inputs;
use crate::priors::Prior;
use stats::SplitMix;

/// What tells the draws of a substitute from those of the attribution, which has the same seed.
const APART: u64 = 0x7768_6174_2069_6621;

/// The draws of an attribution, ready for substitutes.
pub(crate) struct Bench<'a> {
    pub(crate) inputs: &'a Inputs,
    prepared: Prepared<'a>,
    eager: bool,
    seed: u64,
    /// What communication is in a draw.
    pub(crate) taken_out: CommunicationFrom,
    draws: Vec<Draw>,
}

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

/// A step in a draw, ms, as it is and with the substitute.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Step {
    /// On one GPU.
    pub(crate) one: f64,
    /// On several, as it is.
    pub(crate) before: f64,
    /// On several with the substitute.
    pub(crate) after: f64,
}

impl<'a> Bench<'a> {
    /// `None` where the attribution is not one of these inputs.
    pub(crate) fn new(inputs: &'a Inputs, attribution: &Attribution) -> Option<Self> {
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

    /// The step of every draw on links of another rate: the bytes' part of each time is divided by `ratio`, new over old, and
    /// multiplied by what is drawn from `prior`.
    pub(crate) fn on_link(&self, ratio: f64, prior: &Prior) -> Vec<Step> {
        let wire = self.wire();
        self.steps(|draw, now, random| {
            let (part, factor) = (random.uniform(), prior.at(random.uniform()));
            let beyond = random.uniform();
            self.linked(draw, now, &wire, (part, beyond), factor / ratio)
        })
    }

    /// The same with other curves, and an engine that fits them; `elsewhere` is the factor from box to box.
    ///
    /// # Errors
    /// There is no such curve, or it ends too far from the model's sizes.
    pub(crate) fn with_curves(
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
        planned
            .iter()
            .map(|of| share(of).unwrap_or((0.0, 1.0)))
            .collect()
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
pub(crate) fn scaled(part: f64, times: f64) -> f64 {
    1.0 - part + part * times
}
