//! Collective times by another curve than the attribution's, drawn beside its hands.

use record::{CollectiveKind, PlannedCollective};

use super::cost::{Curves, Term};
use super::deck::{Deck, Hand, Knob};
use crate::curve::all_reduce_as_large;
use crate::finding::Finding;
use crate::inputs::Inputs;
use crate::random::Random;

/// The collectives of one step with their times.
#[derive(Debug, Clone)]
pub(super) struct Collectives {
    deck: Deck,
    terms: Vec<Term>,
    /// Whether they were read off curves of this box.
    pub(super) is_own: bool,
}

impl Collectives {
    /// The planned collectives by the best curve of these inputs; the error says why there is none.
    pub(super) fn of(
        inputs: &Inputs,
        eager: bool,
        planned: &[PlannedCollective],
    ) -> Result<Self, Finding> {
        let none = || Finding::NoCurve { ranks: inputs.tp };
        let mut deck = Deck::new(inputs, eager).ok_or_else(none)?;
        let curves = Curves::choose(inputs, eager, planned, &mut deck).ok_or_else(none)?;
        if let Some(far) = curves.too_far(planned) {
            return Err(far);
        }
        let is_within = |of: &&PlannedCollective| {
            // What is read off the all-reduce's curve must lie within it, or a single point stands for all sizes.
            let as_reduce = PlannedCollective {
                kind: CollectiveKind::AllReduce,
                bytes_per_rank: all_reduce_as_large(of.bytes_per_rank, inputs.tp),
                ..(*of).clone()
            };
            let is_read_so = of.kind != CollectiveKind::AllReduce && curves.gathers_as_reduce();
            !is_read_so || curves.too_far(&[as_reduce]).is_none()
        };
        let within = planned.iter().filter(is_within);
        let terms: Vec<Term> = within.map(|of| curves.term(of).0).collect();
        if terms.iter().any(|term| term.is_unstated) {
            let assumed = inputs.prior("unstated_curve_spread").ok_or_else(none)?;
            deck.add(Knob::UnstatedCurveSpread, assumed);
        }
        let used: Vec<Knob> = terms.iter().flat_map(|term| term.factors.clone()).collect();
        deck.drop_unused(&used);
        Ok(Self {
            deck,
            terms,
            is_own: curves.is_own,
        })
    }

    /// One draw beside another hand, ms: factors of the same prior have that hand's value.
    pub(super) fn draw_beside(&self, hand: &Hand, deck: &Deck, random: &mut Random) -> f64 {
        let own = self.deck.draw(random);
        let get = |knob: &Knob| match deck.prior(*knob) == self.deck.prior(*knob) {
            true => hand.get(*knob),
            false => own.get(*knob),
        };
        let us = |term: &Term| {
            let own: f64 = term.factors.iter().map(|knob| own.get(*knob)).product();
            let factor: f64 = term.factors.iter().map(get).product();
            (own, factor)
        };
        let each = self.terms.iter().map(|term| {
            let (without, factor) = us(term);
            term.us(&own) / without * factor
        });
        each.sum::<f64>() / 1e3
    }
}
