//! The step with something else in place of its collectives, in the draws of the attribution: what does not change is common
//! to both, so that differences are as narrow as what is known of the change.
//!
//! What a curve leaves unexplained stays, and is distinguished as what may be communication, too; communication is never below zero.
//! Prefill is left as it is.

mod drawn;

use record::{CollectiveKind, PlannedCollective, PlannedStep};
use serde::{Deserialize, Serialize};
use tp_plan::{EngineFacts, plan};

use super::cost::{Curves, Term};
use super::deck::{BETWEEN, Deck, Knob};
use super::draws::Draw;
use super::prepare::{Prepared, prepare};
use super::result::{Attribution, Cause, Claim, CollectiveCost, TimeSource};
use crate::grade::Grade;
use crate::inputs::Inputs;
use crate::priors::Prior;
use crate::random::Random;

pub(crate) use drawn::Step;
use drawn::Substitute;
#[cfg(test)]
pub(crate) use drawn::scaled;

/// What tells the draws of a substitute from those of the attribution, which has the same seed.
const APART: u64 = 0x7768_6174_2069_6621;

/// The draws of an attribution, ready for substitutes.
pub(crate) struct Bench<'a> {
    inputs: &'a Inputs,
    prepared: Prepared<'a>,
    eager: bool,
    seed: u64,
    /// What communication is in a draw.
    taken_out: CommunicationFrom,
    draws: Vec<Draw>,
    /// All draws, where those of a curve that is no evidence of this box are read with all that is left as communication, too.
    upper: Vec<Draw>,
}

/// What takes the place of the collectives.
pub(crate) enum Swap {
    /// Each all-reduce and each all-gather takes so many times as long.
    Times { all_reduce: f64, all_gather: f64 },
    /// Each all-reduce takes so long in the engine.
    Micros(f64),
    /// Links of another rate: the bytes' part of each time is divided by `ratio` and multiplied by what is drawn from `prior`.
    Link {
        /// New rate over old.
        ratio: f64,
        /// Nominal GB/s of the old link in one direction, where it is known.
        old_gb_per_s: Option<f64>,
        prior: Prior,
    },
    /// Another engine over the same curves.
    Engine(Box<EngineFacts>),
    /// Other curves, and an engine that fits them; `elsewhere` is the factor from box to box.
    Curves {
        inputs: Box<Inputs>,
        elsewhere: Option<Prior>,
    },
}

/// What was taken out of the step before the substitute was put in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CommunicationFrom {
    /// What this box's own curve gives; what is unexplained stays.
    OwnCurve,
    /// What a curve gives that is no evidence of this box's engine, such as a published one; what is unexplained stays.
    AnotherCurve,
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
    /// The runs show no step.
    NoStep,
    /// There is no curve to read from.
    NoCurve,
    /// The curve ends too far from the model's sizes.
    CurveTooFar,
    /// The curve holds no time of so many ranks.
    OtherRanks,
    /// The curve shows no bandwidth, and its link is not known.
    NoBandwidth,
    /// Which link these GPUs have is not known.
    LinkUnknown,
    /// It is the link that these GPUs have.
    SameLink,
    /// These GPUs reach each other already.
    PeersAlready,
    /// A prior is missing.
    PriorMissing,
}

/// Steps after a substitution, one a draw.
pub(crate) struct Swapped {
    pub(crate) steps: Vec<Step>,
    /// The same where all that such a curve leaves unexplained is communication, too; empty where that is distinguished.
    pub(crate) upper: Vec<Step>,
    /// Priors that the substitute brought in.
    pub(crate) assumed: Vec<Prior>,
}

impl<'a> Bench<'a> {
    /// `None` where the attribution is not one of these inputs.
    pub(crate) fn new(inputs: &'a Inputs, attribution: &Attribution) -> Option<Self> {
        let prepared = prepare(inputs)?;
        let all = prepared.draws(attribution.seed, attribution.draws.max(1));
        let fits = |draw: &&Draw| prepared.fits(draw);
        let free: Vec<Draw> = all.iter().filter(fits).copied().collect();
        let fitting: Vec<Draw> = free
            .iter()
            .filter(|draw| prepared.leaves_room(draw))
            .copied()
            .collect();
        let is_estimated = attribution.claim == Claim::Estimated;
        let (taken_out, draws, upper) = if !is_estimated {
            (CommunicationFrom::Remainder, free, Vec::new())
        } else if attribution
            .half
            .as_ref()
            .is_some_and(|half| !half.is_contradicted())
        {
            (CommunicationFrom::HalfModel, free, Vec::new())
        } else if is_by_own_curve(attribution) {
            (CommunicationFrom::OwnCurve, free, Vec::new())
        } else if fitting.is_empty() {
            (CommunicationFrom::Remainder, free, Vec::new())
        } else {
            (CommunicationFrom::AnotherCurve, fitting, free)
        };
        (!draws.is_empty()).then_some(Self {
            inputs,
            eager: inputs.is_eager(prepared.workload.model.batch),
            seed: attribution.seed ^ APART,
            prepared,
            taken_out,
            draws,
            upper,
        })
    }

    /// Whether a size was launched more than once, so that a draw has the step of one launch and not their mean.
    pub(crate) fn is_repeated(&self) -> bool {
        let workload = &self.prepared.workload;
        workload.one.repeats() > 1 || workload.several.repeats() > 1
    }

    pub(crate) fn taken_out(&self) -> CommunicationFrom {
        self.taken_out
    }

    /// The curve that most of the communication was read from; `None` where it is what other causes leave.
    pub(crate) fn taken_from(&self, attribution: &Attribution) -> Option<TimeSource> {
        let us = |cost: &&CollectiveCost| cost.us * f64::from(cost.count);
        let all = attribution.collectives.iter();
        let most = all.max_by(|a, b| us(a).total_cmp(&us(b)));
        most.filter(|_| self.is_by_curve())
            .map(|cost| cost.source.clone())
    }

    fn is_by_curve(&self) -> bool {
        let by = [CommunicationFrom::OwnCurve, CommunicationFrom::AnotherCurve];
        by.contains(&self.taken_out)
    }

    pub(crate) fn inputs(&self) -> &Inputs {
        self.inputs
    }

    /// The steps with a substitute.
    ///
    /// # Errors
    /// The curves do not tell what was asked, in words.
    pub(crate) fn with(&self, swap: &Swap) -> Result<Swapped, NoSubstitute> {
        let (substitute, assumed) = self.substitute(swap)?;
        let steps = |draws: &[Draw], by_curve| {
            let mut random = Random::new(self.seed);
            draws
                .iter()
                .map(|draw| substitute.step(draw, by_curve, &mut random))
                .collect()
        };
        Ok(Swapped {
            steps: steps(&self.draws, self.is_by_curve()),
            upper: steps(&self.upper, false),
            assumed,
        })
    }

    fn substitute<'s>(
        &'s self,
        swap: &'s Swap,
    ) -> Result<(Substitute<'s>, Vec<Prior>), NoSubstitute> {
        let mut substitute = Substitute {
            bench: self,
            swap,
            terms: None,
            wire: Vec::new(),
            step: self.prepared.step.clone(),
        };
        let batch = self.prepared.workload.model.batch;
        let mut assumed = Vec::new();
        match swap {
            Swap::Times { .. } | Swap::Micros(_) => {}
            Swap::Link {
                old_gb_per_s,
                prior,
                ..
            } => {
                assumed.push(prior.clone());
                substitute.wire = self.wire(*old_gb_per_s)?;
            }
            Swap::Engine(engine) => {
                substitute.step = plan(&self.inputs.model, engine, batch, None);
                let (terms, deck) = self.read(self.inputs, &substitute.step)?;
                if !self.is_by_curve() && self.prepared.workload.terms.is_none() {
                    return Err(NoSubstitute::NoCurve);
                }
                substitute.terms = Some((terms, deck));
            }
            Swap::Curves { inputs, elsewhere } => {
                let engine = inputs.engine(inputs.tp).ok_or(NoSubstitute::NoCurve)?;
                substitute.step = plan(&inputs.model, engine, batch, None);
                let (terms, deck) = self.read(inputs, &substitute.step)?;
                let used = |knob: &Knob| terms.iter().any(|term| term.factors.contains(knob));
                let factors = BETWEEN.iter().filter(|knob| used(knob));
                assumed.extend(factors.filter_map(|knob| deck.prior(*knob).cloned()));
                assumed.extend(elsewhere.clone());
                substitute.terms = Some((terms, deck));
            }
        }
        Ok((substitute, assumed))
    }

    /// The collectives of a step by the best curve of some inputs.
    fn read(&self, inputs: &Inputs, step: &PlannedStep) -> Result<(Vec<Term>, Deck), NoSubstitute> {
        let mut deck = Deck::new(inputs, self.eager).ok_or(NoSubstitute::PriorMissing)?;
        let curves = Curves::choose(inputs, self.eager, &step.collectives, &mut deck)
            .ok_or(NoSubstitute::NoCurve)?;
        if curves.too_far(&step.collectives).is_some() {
            return Err(NoSubstitute::CurveTooFar);
        }
        let mut terms = Vec::new();
        for collective in &step.collectives {
            let (term, _) = curves.term(collective);
            let term = match curves.is_own && self.prepared.deck.prior(Knob::Exposed).is_some() {
                true => term.may_hide(),
                false => term,
            };
            terms.push(term);
        }
        if let Some(exposed) = self.prepared.deck.prior(Knob::Exposed) {
            deck.add(Knob::Exposed, exposed.clone());
        }
        if terms.iter().any(|term| term.is_unstated)
            && let Some(prior) = inputs.prior("unstated_curve_spread")
        {
            deck.add(Knob::UnstatedCurveSpread, prior);
        }
        Ok((terms, deck))
    }

    /// The share of each term that its bytes take. A curve that shows no bandwidth leaves the link's own rate as the least of
    /// it, and all of the time as the most.
    fn wire(&self, old_gb_per_s: Option<f64>) -> Result<Vec<(f64, f64)>, NoSubstitute> {
        let planned = &self.prepared.step.collectives;
        let mut scratch = Deck::new(self.inputs, self.eager).ok_or(NoSubstitute::PriorMissing)?;
        let curves = Curves::choose(self.inputs, self.eager, planned, &mut scratch)
            .filter(|_| self.prepared.workload.terms.is_some());
        let of = |collective: &PlannedCollective| {
            let by_curve = curves
                .as_ref()
                .and_then(|curves| curves.on_the_wire(collective));
            if let Some(share) = by_curve {
                return Some(share);
            }
            let us = curves.as_ref()?.term(collective).0.cost.us;
            let least = wire_bytes(collective, self.inputs.tp) / (old_gb_per_s? * 1e3);
            Some(((least / us).min(1.0), 1.0))
        };
        planned
            .iter()
            .map(|collective| of(collective).ok_or(NoSubstitute::NoBandwidth))
            .collect()
    }
}

/// Bytes that each rank sends at least.
#[expect(
    clippy::cast_precision_loss,
    reason = "messages are far below 2^53 bytes"
)]
fn wire_bytes(collective: &PlannedCollective, ranks: u32) -> f64 {
    let others = f64::from(ranks.saturating_sub(1));
    let bytes = collective.bytes_per_rank as f64;
    match collective.kind {
        CollectiveKind::AllReduce => bytes * 2.0 * others / f64::from(ranks.max(1)),
        _ => bytes * others,
    }
}

/// Whether the headline's communication is what a curve of this box gives.
fn is_by_own_curve(attribution: &Attribution) -> bool {
    let bar = attribution.bar(Cause::Communication);
    attribution.claim == Claim::Estimated
        && bar.is_some_and(|bar| bar.grade.is_some_and(|grade| grade < Grade::D))
}
