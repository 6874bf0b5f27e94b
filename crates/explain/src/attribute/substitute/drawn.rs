//! One draw with something else in place of its collectives.
//!
//! Which draws, and which curves the new collectives are read from, stands in `substitute.rs`.

use record::{CollectiveKind, PlannedStep};

use super::super::cost::Term;
use super::super::deck::{BETWEEN, Deck, Knob};
use super::super::draws::Draw;
use super::{Bench, Swap};
use crate::random::Random;

/// One draw before and after, ms.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Step {
    pub(crate) one: f64,
    pub(crate) before: f64,
    pub(crate) after: f64,
    /// Communication after.
    pub(crate) communication: f64,
}

/// How the new communication follows from a draw.
pub(super) struct Substitute<'a> {
    pub(super) bench: &'a Bench<'a>,
    pub(super) swap: &'a Swap,
    /// New terms with the deck that they are drawn from; `None` where the old ones are scaled.
    pub(super) terms: Option<(Vec<Term>, Deck)>,
    /// Least and most share of each old term that the bytes take.
    pub(super) wire: Vec<(f64, f64)>,
    pub(super) step: PlannedStep,
}

impl Substitute<'_> {
    /// One draw; what is random of the substitute comes from `random`, as often in every draw.
    pub(super) fn step(&self, draw: &Draw, by_curve: bool, random: &mut Random) -> Step {
        let now = match by_curve {
            true => draw.communication.unwrap_or(0.0),
            false => draw.remainder(),
        }
        .max(0.0);
        let gathers = draw.all_gather.min(now);
        let reduces = now - gathers;
        let new = match self.swap {
            Swap::Times {
                all_reduce,
                all_gather,
            } => reduces * all_reduce + gathers * all_gather,
            Swap::Micros(us) => self.reduces_a_step() * us / 1e3 + gathers,
            Swap::Link { ratio, prior, .. } => {
                let (part, factor) = (random.uniform(), prior.at(random.uniform()));
                self.linked(draw, now, (part, random.uniform()), factor / ratio)
            }
            Swap::Engine(_) => now * self.ratio(draw, random),
            Swap::Curves { elsewhere, .. } => {
                let factor = elsewhere.as_ref().map(|prior| prior.at(random.uniform()));
                self.fresh(draw, random) / 1e3 * factor.unwrap_or(1.0)
            }
        };
        Step {
            one: draw.one,
            before: draw.several,
            after: draw.several - now + new,
            communication: new,
        }
    }

    fn reduces_a_step(&self) -> f64 {
        let all = self.step.collectives.iter();
        let reduces = all.filter(|of| of.kind == CollectiveKind::AllReduce);
        reduces.map(|of| f64::from(of.count)).sum()
    }

    /// New time of communication where the bytes' part takes `times` as long; `part` places that part of a call between the least
    /// and the most of it. What the curve does not explain may be bytes in the same proportion, or nothing that a link changes:
    /// `beyond` places it between the two.
    fn linked(&self, draw: &Draw, now: f64, (part, beyond): (f64, f64), times: f64) -> f64 {
        let terms = self.bench.prepared.workload.terms.iter().flatten();
        let (mut old, mut new) = (0.0, 0.0);
        for (term, (least, most)) in terms.zip(&self.wire) {
            let us = term.us(&draw.hand);
            let bytes = least + (most - least) * part;
            old += us;
            new += us * scaled(bytes, times);
        }
        if old <= 0.0 {
            return now;
        }
        let (by_curve, in_proportion) = ((new - old) / 1e3, now * (new / old - 1.0));
        (now + by_curve + (in_proportion - by_curve) * beyond).max(0.0)
    }

    /// New time of all collectives over the old by the same curves in the same draw.
    fn ratio(&self, draw: &Draw, random: &mut Random) -> f64 {
        let terms = self.bench.prepared.workload.terms.iter().flatten();
        let old: f64 = terms.map(|term| term.us(&draw.hand)).sum();
        let new = self.fresh(draw, random);
        if old > 0.0 { new / old } else { 1.0 }
    }

    /// Microseconds of the new terms: factors that are the old ones' keep their values, others are drawn.
    fn fresh(&self, draw: &Draw, random: &mut Random) -> f64 {
        let Some((terms, deck)) = &self.terms else {
            return 0.0;
        };
        let mut hand = draw.hand;
        let others = [Knob::UnstatedCurveSpread];
        for knob in BETWEEN.into_iter().chain(others) {
            let (new, old) = (deck.prior(knob), self.bench.prepared.deck.prior(knob));
            let drawn = random.uniform();
            if new != old {
                hand = hand.with(knob, new.map_or(1.0, |prior| prior.at(drawn)));
            }
        }
        let error = random.normal();
        if matches!(self.swap, Swap::Curves { .. }) {
            hand = hand.with(Knob::CurveError, error);
        }
        terms.iter().map(|term| term.us(&hand)).sum()
    }
}

/// What becomes of a time of 1 if its part that the bytes take lasts so many times as long.
pub(crate) fn scaled(part: f64, times: f64) -> f64 {
    1.0 - part + part * times
}
