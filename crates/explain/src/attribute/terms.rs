//! Collective times for questions beside the attribution: two links, two sizes, a prefill. The curves, factors and priors are
//! those of the attribution; whoever asks draws for himself.

use import::{ServeRun, Spread};
use record::{CallMode, CollectiveKind, PlannedCollective};

use super::cost::{Curves, Term};
use super::deck::{Deck, Hand, Knob};
use super::result::{CollectiveCost, StepFrom};
use super::step::relative_spread;
use super::waterfall::grade;
use crate::curve::all_reduce_as_large;
use crate::finding::Finding;
use crate::grade::Grade;
use crate::inputs::Inputs;
use crate::priors::Prior;
use crate::random::Random;

/// The collectives of one step with their times.
#[derive(Debug, Clone)]
pub(crate) struct Collectives {
    deck: Deck,
    terms: Vec<Term>,
    is_own: bool,
    timed_in: Option<CallMode>,
    pub(crate) caveats: Vec<Finding>,
}

/// One draw of what a step's collectives take, ms.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Taken {
    /// With the factors between the curve and the engine.
    pub(crate) ms: f64,
    /// As the curve has it, with the error of its points alone.
    pub(crate) bare_ms: f64,
}

impl Collectives {
    /// The planned collectives by the best curve of these inputs; the error says in words why there is none.
    pub(crate) fn of(
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
        let (mut terms, mut caveats) = (Vec::new(), curves.caveats.clone());
        for collective in planned {
            // What is read off the all-reduce's curve must lie within it, or a single point stands for all sizes.
            let as_reduce = PlannedCollective {
                kind: CollectiveKind::AllReduce,
                bytes_per_rank: all_reduce_as_large(collective.bytes_per_rank, inputs.tp),
                ..collective.clone()
            };
            let is_gather = collective.kind != CollectiveKind::AllReduce;
            let (term, caveat) = curves.term(collective);
            if let Some(far) = curves
                .too_far(&[as_reduce])
                .filter(|_| is_gather && curves.gathers_as_reduce())
            {
                caveats.push(far);
                continue;
            }
            caveats.extend(caveat);
            terms.push(term);
        }
        if terms.iter().any(|term| term.is_unstated) {
            let assumed = inputs.prior("unstated_curve_spread").ok_or_else(none)?;
            deck.add(Knob::UnstatedCurveSpread, assumed);
        }
        let used: Vec<Knob> = terms.iter().flat_map(|term| term.factors.clone()).collect();
        deck.drop_unused(&used);
        caveats.dedup();
        Ok(Self {
            deck,
            terms,
            is_own: curves.is_own,
            timed_in: curves.mode_of_library,
            caveats,
        })
    }

    /// As [`Collectives::of`] for a step with prompts: messages are so large that launches do not matter, and no graph is replayed.
    pub(crate) fn of_prefill(
        inputs: &Inputs,
        planned: &[PlannedCollective],
    ) -> Result<Self, Finding> {
        let of_ranks = |mode| {
            let points = inputs.curve_of_gpus();
            points
                .filter(|point| point.ranks == inputs.tp)
                .any(|point| point.mode == Some(mode))
        };
        Self::of(inputs, of_ranks(CallMode::BackToBack), planned)
    }

    /// All-reduces, however many sizes they have.
    pub(crate) fn all_reduces(&self) -> u32 {
        let reduces = self.costs();
        let reduces = reduces
            .iter()
            .filter(|cost| cost.kind == CollectiveKind::AllReduce);
        reduces.map(|cost| cost.count).sum()
    }

    /// The collectives with the curve's times.
    pub(crate) fn costs(&self) -> Vec<CollectiveCost> {
        self.terms.iter().map(|term| term.cost.clone()).collect()
    }

    /// The grade of what makes up nine tenths of the time.
    pub(crate) fn grade(&self) -> Grade {
        grade(&self.terms)
    }

    /// How the curve was timed, in words.
    pub(crate) fn timed_in(&self) -> Option<CallMode> {
        self.timed_in
    }

    /// Whether they were read off curves of this box.
    pub(crate) fn is_own(&self) -> bool {
        self.is_own
    }

    /// Milliseconds of all of them as the curve has it.
    pub(crate) fn face_ms(&self) -> f64 {
        self.terms.iter().map(Term::base_us).sum::<f64>() / 1e3
    }

    /// The factors between curve and engine that are drawn.
    pub(crate) fn priors(&self) -> Vec<Prior> {
        let mut priors: Vec<Prior> = Vec::new();
        for knob in self.terms.iter().flat_map(|term| &term.factors) {
            if let Some(prior) = self.deck.prior(*knob).filter(|p| !priors.contains(p)) {
                priors.push(prior.clone());
            }
        }
        priors
    }

    /// One draw.
    pub(crate) fn draw(&self, random: &mut Random) -> Taken {
        let hand = self.deck.draw(random);
        self.taken(&hand, None)
    }

    /// One draw of both. A factor that both share is the same on both sides: the engine does not change with the link. Errors of
    /// the curves are each side's own.
    pub(crate) fn draw_both(a: &Self, b: &Self, random: &mut Random) -> (Taken, Taken) {
        let (of_a, of_b) = (a.deck.draw(random), b.deck.draw(random));
        (a.taken(&of_a, None), b.taken(&of_b, Some((&of_a, &a.deck))))
    }

    /// One draw beside another hand: factors of the same prior have that hand's value.
    pub(crate) fn draw_beside(&self, hand: &Hand, deck: &Deck, random: &mut Random) -> Taken {
        let own = self.deck.draw(random);
        self.taken(&own, Some((hand, deck)))
    }

    fn taken(&self, own: &Hand, shared: Option<(&Hand, &Deck)>) -> Taken {
        let (mut ms, mut bare_ms) = (0.0, 0.0);
        for term in &self.terms {
            let own_factor: f64 = term.factors.iter().map(|knob| own.get(*knob)).product();
            let factor: f64 = term
                .factors
                .iter()
                .map(|knob| match shared {
                    Some((hand, deck)) if deck.prior(*knob) == self.deck.prior(*knob) => {
                        hand.get(*knob)
                    }
                    _ => own.get(*knob),
                })
                .product();
            let bare = term.us(own) / own_factor / 1e3;
            bare_ms += bare;
            ms += bare * factor;
        }
        Taken { ms, bare_ms }
    }
}

/// What every one of these runs tells of a decode step, the best first.
pub(crate) fn step_from(runs: &[&ServeRun]) -> Option<StepFrom> {
    StepFrom::common(runs)
}

/// Relative standard deviation of a mean; `None` where the file gives no spread.
pub(crate) fn spread_of(of: &Spread) -> Option<f64> {
    relative_spread(of)
}
