//! The bars of an attribution, each with its grade and what it rests on.

use record::CollectiveKind;

use super::cost::Term;
use super::deck::{Deck, Knob};
use super::draws::{Draw, Workload, range};
use super::result::{Bar, Basis, Cause, Claim, HalfModel};
use crate::range::{Grade, Range, each_once};

/// What is assumed in a bar may be this part of it, or the bar is not measured.
const ASSUMED_PART: f64 = 0.1;

/// The draws that bars are made of.
pub(super) struct Shown<'a> {
    workload: &'a Workload<'a>,
    deck: &'a Deck,
    draws: &'a [Draw],
    claim: &'a Claim,
    /// What the half-width model measured, compared with this box's curve or a trace; `None` where it was not run.
    pub(super) half: Option<HalfModel>,
    /// Whether the draws are those alone whose causes fit into what was measured, since the factors on the curve are wide.
    dropped: bool,
    /// Whether the collectives' bars are a curve's or a trace's, and what is left over is unexplained.
    by_curve: bool,
}

impl<'a> Shown<'a> {
    pub(super) fn new(
        workload: &'a Workload<'a>,
        deck: &'a Deck,
        draws: &'a [Draw],
        claim: &'a Claim,
        dropped: bool,
    ) -> Self {
        let half = held_against_curve(workload, draws);
        // A curve of other sizes or another mode cannot part what was measured, but it can contradict it.
        let terms = workload.terms.as_deref();
        let parts = terms.is_some_and(|terms| grade(terms) <= Grade::C);
        let by_curve = half
            .as_ref()
            .is_none_or(|half| workload.by_own && (parts || half.is_contradicted()));
        Self {
            workload,
            deck,
            draws,
            claim,
            half,
            dropped,
            by_curve,
        }
    }

    fn range(&self, of: impl Fn(&Draw) -> f64) -> Option<Range> {
        range(self.draws, of)
    }

    /// The names of the priors behind these.
    fn priors(&self, knobs: &[Knob]) -> Basis {
        let names = knobs.iter().filter_map(|knob| self.deck.prior(*knob));
        Basis::Priors {
            names: names.map(|prior| prior.name.clone()).collect(),
        }
    }

    /// The causes in the order of the waterfall; they sum to the step on several GPUs in each draw.
    pub(super) fn bars(&self) -> Option<Vec<Bar>> {
        let mut bars = self.besides()?;
        if *self.claim == Claim::Estimated {
            let sent = self.all_reduce().into_iter().chain(self.all_gather());
            bars.extend(sent.map(|bar| self.capped(bar)));
        }
        bars.push(self.unexplained()?);
        Some(bars)
    }

    /// All but collectives.
    fn besides(&self) -> Option<Vec<Bar>> {
        let gemm_ms = self.range(|draw| draw.gemm_loss)?;
        let (gemm_grade, gemm_basis) = match &self.half {
            Some(_) => {
                let parted =
                    self.range(|draw| draw.unsharded + draw.host - draw.hand.get(Knob::Executor))?;
                (measured(&gemm_ms, parted.high - parted.low), Basis::Shard)
            }
            None => {
                let starts = self.priors(&[Knob::GemmStart, Knob::ExpertStart]);
                (Grade::D, starts)
            }
        };
        let ideal = self.range(|draw| draw.ideal)?;
        let unsharded = self.range(|draw| draw.unsharded)?;
        let fixed = self.priors(&[Knob::Attention, Knob::Elementwise]);
        let host = self.priors(&[Knob::Host, Knob::Executor]);
        let host_ms = self.range(|draw| draw.host)?;
        Some(vec![
            Bar::new(Cause::Ideal, ideal, None, Basis::Steps),
            Bar::new(Cause::NarrowGemm, gemm_ms, Some(gemm_grade), gemm_basis),
            Bar::new(Cause::Unsharded, unsharded, Some(Grade::D), fixed),
            Bar::new(Cause::Host, host_ms, Some(Grade::D), host),
        ])
    }

    fn all_reduce(&self) -> Option<Bar> {
        let cause = Cause::AllReduce;
        if !self.by_curve {
            // What a curve says of the all-gather is small; all else is measured.
            let ms = self.range(|draw| draw.remainder() - draw.all_gather)?;
            let gathers = self.range(|draw| draw.all_gather)?;
            let assumed = self.executor_width() + gathers.high - gathers.low;
            return Some(Bar::new(
                cause,
                ms,
                Some(measured(&ms, assumed)),
                Basis::Difference,
            ));
        }
        let of = |draw: &Draw| draw.communication.unwrap_or(0.0) - draw.all_gather;
        let mut bar = self.of_kind(cause, CollectiveKind::AllReduce, of)?;
        if self.dropped {
            let most = self.range(|draw| self.most(draw) - draw.all_gather)?;
            bar.ms.high = bar.ms.high.max(most.high);
        }
        Some(bar)
    }

    /// The most that communication may be in a draw, ms: all that is left, or what the factors on the curve give at most.
    ///
    /// Draws that fit into what was measured, all weighed alike, hardly reach it, and yet all that is left may be communication.
    fn most(&self, draw: &Draw) -> f64 {
        let most = self
            .workload
            .communication(&self.deck.between(&draw.hand, |prior| prior.high));
        let drawn = draw.communication.unwrap_or(0.0);
        draw.remainder().min(most).max(drawn)
    }

    fn all_gather(&self) -> Option<Bar> {
        let kind = CollectiveKind::AllGather;
        self.of_kind(Cause::AllGather, kind, |draw| draw.all_gather)
    }

    /// Collectives of a kind by their times; `None` where there are none.
    fn of_kind(&self, cause: Cause, kind: CollectiveKind, of: fn(&Draw) -> f64) -> Option<Bar> {
        let terms = self.workload.terms.iter().flatten();
        let terms = terms.filter(|term| term.cost.kind == kind);
        let terms: Vec<Term> = terms.cloned().collect();
        if terms.is_empty() {
            return None;
        }
        let (grade, basis) = (grade(&terms), collectives(&terms));
        Some(Bar::new(cause, self.range(of)?, Some(grade), basis))
    }

    /// No better than D where other requests' prompts, or what the engine sends, are in doubt.
    fn capped(&self, mut bar: Bar) -> Bar {
        if self.workload.is_doubtful {
            bar.grade = bar.grade.map(|_| Grade::D);
        }
        bar
    }

    fn unexplained(&self) -> Option<Bar> {
        let is_estimated = *self.claim == Claim::Estimated;
        let of: fn(&Draw) -> f64 = match is_estimated {
            true if !self.by_curve => |_| 0.0,
            true => Draw::unexplained,
            false => Draw::remainder,
        };
        let mut ms = self.range(of)?;
        if self.dropped {
            let least = self.range(|draw| draw.remainder() - self.most(draw))?;
            ms.low = ms.low.min(least.low);
        }
        let basis = match is_estimated {
            true => Basis::Rest,
            false => Basis::RestWithCommunication,
        };
        Some(Bar::new(Cause::Unexplained, ms, None, basis))
    }

    /// Whether the half-width model's difference is communication: not where this box's own curve or a trace gives another figure.
    fn is_difference(&self) -> bool {
        self.half
            .as_ref()
            .is_some_and(|half| !half.is_contradicted())
    }

    /// What communication is in a draw; `None` where there is no bar of it.
    pub(super) fn communication_of_draw(&self) -> Option<fn(&Draw) -> f64> {
        match (self.claim, self.is_difference()) {
            (Claim::Estimated, true) => Some(Draw::remainder),
            (Claim::Estimated, false) => Some(|draw| draw.communication.unwrap_or(0.0)),
            _ => None,
        }
    }

    /// All collectives together.
    pub(super) fn communication(&self) -> Option<Bar> {
        let mut ms = self.range(self.communication_of_draw()?)?;
        if self.dropped {
            ms.high = ms.high.max(self.range(|draw| self.most(draw))?.high);
        }
        let terms = self.workload.terms.as_deref().unwrap_or_default();
        let (grade, basis) = match self.is_difference() {
            true => (measured(&ms, self.executor_width()), Basis::Difference),
            false => (grade(terms), collectives(terms)),
        };
        let bar = Bar::new(Cause::Communication, ms, Some(grade), basis);
        Some(self.capped(bar))
    }

    /// How wide the range of what several processes add is, ms.
    fn executor_width(&self) -> f64 {
        let prior = self.deck.prior(Knob::Executor);
        prior.map_or(0.0, |prior| prior.high - prior.low)
    }
}

/// The grade of a bar that the half-width model measured but for what is assumed in it.
fn measured(bar: &Range, assumed_ms: f64) -> Grade {
    match assumed_ms > ASSUMED_PART * bar.mid {
        true => Grade::D,
        false => Grade::A,
    }
}

/// What the half-width model measured, with what this box's curve or a trace makes of it; `None` where it was not run.
fn held_against_curve(workload: &Workload<'_>, draws: &[Draw]) -> Option<HalfModel> {
    workload.half.as_ref()?;
    let of = |draw: &Draw| draw.half.unwrap_or(draw.ideal);
    let by_curve = |draw: &Draw| draw.communication.unwrap_or(0.0) + draw.hand.get(Knob::Executor);
    let own = Some(draws).filter(|_| workload.by_own);
    Some(HalfModel {
        step: range(draws, of)?,
        loss: range(draws, |draw| of(draw) - draw.ideal)?,
        difference: range(draws, |draw| draw.several - of(draw))?,
        by_curve: own.and_then(|draws| range(draws, by_curve)),
        gap: own.and_then(|draws| range(draws, Draw::unexplained)),
    })
}

/// The grade of what makes up nine tenths of the time.
pub(crate) fn grade(terms: &[Term]) -> Grade {
    let whole: f64 = terms.iter().map(Term::base_us).sum();
    let holds = |grade: &Grade| {
        let good = terms.iter().filter(|term| term.cost.grade <= *grade);
        good.map(Term::base_us).sum::<f64>() >= 0.9 * whole
    };
    [Grade::A, Grade::B, Grade::C]
        .into_iter()
        .find(holds)
        .unwrap_or(Grade::D)
}

/// What collectives rest on.
pub(crate) fn collectives(terms: &[Term]) -> Basis {
    Basis::Collectives {
        sources: each_once(terms.iter().map(|term| &term.cost.source)),
        face_ms: terms.iter().map(Term::base_us).sum::<f64>() / 1e3,
    }
}
