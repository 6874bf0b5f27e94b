//! The bars of an attribution, each with its grade and what it rests on.

use measure::record::CollectiveKind;
use measure::unit::ByteCount;

use super::cost::Term;
use super::deck::{Deck, Knob};
use super::draws::{Draw, Workload};
use super::half::measured;
use super::result::{Bar, Cause, Claim, CollectiveCost, Grade, HalfModel};
use super::work::range;
use crate::range::Range;

/// The draws that bars are made of.
pub(super) struct Shown<'a> {
    workload: &'a Workload<'a>,
    deck: &'a Deck,
    draws: &'a [Draw],
    claim: &'a Claim,
    /// What the half-width model measured, held against this box's curve or a trace; `None` where it was not run.
    half: Option<HalfModel>,
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
        let mut shown = Self {
            workload,
            deck,
            draws,
            claim,
            dropped,
            half: None,
            by_curve: true,
        };
        shown.half = shown.held_against_curve();
        if let Some(half) = &shown.half {
            // A curve of other sizes or another mode cannot part what was measured, but it can contradict it.
            let terms = workload.terms.as_deref();
            let parts = terms.is_some_and(|terms| grade(terms) <= Grade::C);
            shown.by_curve = workload.by_own && (parts || half.agrees == Some(false));
        }
        shown
    }

    fn range(&self, of: impl Fn(&Draw) -> f64) -> Option<Range> {
        range(self.draws, of)
    }

    fn prior(&self, knob: Knob) -> String {
        let prior = self.deck.prior(knob);
        prior.map_or(String::new(), ToString::to_string)
    }

    /// Whether the half-width model takes the place of priors and curve.
    fn by_half(&self) -> bool {
        self.workload.half.is_some()
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
        let tp = self.workload.tp;
        let bar = |cause, ms, grade, source| Bar {
            cause,
            ms,
            grade,
            source,
        };
        let fixed = format!(
            "{}; {}",
            self.prior(Knob::Attention),
            self.prior(Knob::Elementwise)
        );
        let gemm_ms = self.range(|draw| draw.gemm_loss)?;
        let (gemm_grade, gemm_source) = match (&self.half, self.deck.prior(Knob::GemmSpeedup)) {
            (Some(half), _) => {
                let parted =
                    self.range(|draw| draw.unsharded + draw.host - draw.hand.get(Knob::Executor))?;
                let (grade, said) = self.measured(&gemm_ms, parted.high - parted.low);
                (
                    grade,
                    format!(
                        "the half-width model's step less 1/{tp} of TP1's, {} ms, less what never shards and the host{said}",
                        half.loss.with_decimals(2)
                    ),
                )
            }
            // A range that was measured comes from times of this model's shapes.
            (None, Some(prior)) if prior.source.starts_with("measured") => {
                (Grade::C, prior.to_string())
            }
            (None, _) => (Grade::D, self.prior(Knob::GemmSpeedup)),
        };
        Some(vec![
            bar(
                Cause::Ideal,
                self.range(|draw| draw.ideal)?,
                None,
                format!("the step of one GPU over {tp}"),
            ),
            bar(Cause::NarrowGemm, gemm_ms, Some(gemm_grade), gemm_source),
            bar(
                Cause::Unsharded,
                self.range(|draw| draw.unsharded)?,
                Some(Grade::D),
                fixed,
            ),
            bar(
                Cause::Host,
                self.range(|draw| draw.host)?,
                Some(Grade::D),
                format!(
                    "its work on {tp} GPUs less 1/{tp} of that on one: {}; and {}",
                    self.prior(Knob::Host),
                    self.prior(Knob::Executor)
                ),
            ),
        ])
    }

    fn all_reduce(&self) -> Option<Bar> {
        let terms = self.terms(CollectiveKind::AllReduce);
        if self.by_half() && !self.by_curve {
            // What a curve says of the all-gather is small; all else is measured.
            let ms = self.range(|draw| draw.remainder() - draw.all_gather)?;
            let gathers = self.range(|draw| draw.all_gather)?;
            let assumed = self.executor_width() + gathers.high - gathers.low;
            let (grade, said) = self.measured(&ms, assumed);
            return Some(Bar {
                cause: Cause::AllReduce,
                ms,
                grade: Some(grade),
                source: self.difference_in_words() + &said,
            });
        }
        let of = |draw: &Draw| draw.communication.unwrap_or(0.0) - draw.all_gather;
        let mut bar =
            (!terms.is_empty()).then(|| self.of_terms(Cause::AllReduce, &terms, of))??;
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
        let most = self.workload.communication(&self.deck.highest(&draw.hand));
        let drawn = draw.communication.unwrap_or(0.0);
        draw.remainder().min(most).max(drawn)
    }

    fn all_gather(&self) -> Option<Bar> {
        let terms = self.terms(CollectiveKind::AllGather);
        (!terms.is_empty())
            .then(|| self.of_terms(Cause::AllGather, &terms, |draw| draw.all_gather))?
    }

    fn of_terms(&self, cause: Cause, terms: &[Term], of: fn(&Draw) -> f64) -> Option<Bar> {
        Some(Bar {
            cause,
            ms: self.range(of)?,
            grade: Some(grade(terms)),
            source: source(terms, &self.transfers(terms)),
        })
    }

    /// The grade of a bar that the half-width model measured but for what is taken as known in it; and a word on it.
    fn measured(&self, bar: &Range, assumed_ms: f64) -> (Grade, String) {
        match &self.workload.not_proven {
            None => measured(bar, assumed_ms),
            Some(why) => (Grade::D, format!("; {why}, so that its evidence is D")),
        }
    }

    /// A bar of collectives as good as prompts that may be in the step let it be.
    fn capped(&self, bar: Bar) -> Bar {
        let bar = self.workload.held_back.capped(bar);
        match &self.workload.unseen {
            Some(unseen) => unseen.capped(bar),
            None => bar,
        }
    }

    fn terms(&self, kind: CollectiveKind) -> Vec<Term> {
        let terms = self.workload.terms.iter().flatten();
        terms
            .filter(|term| term.cost.kind == kind)
            .cloned()
            .collect()
    }

    fn unexplained(&self) -> Option<Bar> {
        let tp = self.workload.tp;
        let (of, words): (fn(&Draw) -> f64, String) = match self.claim {
            Claim::Estimated if self.by_half() && self.by_curve => (
                Draw::unexplained,
                format!(
                    "the step of TP{tp} less the half-width model's, less the executor and what curve or trace give the collectives"
                ),
            ),
            Claim::Estimated if self.by_half() => (
                |_| 0.0,
                match self.half.as_ref().and_then(|half| half.agrees) {
                    Some(_) => "nothing: what the half-width model does not take is communication, and this box's curve, though of other sizes or another mode, does not contradict it",
                    None => "nothing: what the half-width model does not take is communication, and no curve of this box checks it",
                }
                .to_owned(),
            ),
            Claim::Estimated => (Draw::unexplained, "what is left".to_owned()),
            Claim::AtMost { .. } => (
                Draw::remainder,
                "what is left, communication included".to_owned(),
            ),
            Claim::None { .. } => (
                Draw::remainder,
                "what is left, of which nothing is claimed".to_owned(),
            ),
        };
        let mut ms = self.range(of)?;
        if self.dropped {
            let least = self.range(|draw| draw.remainder() - self.most(draw))?;
            ms.low = ms.low.min(least.low);
        }
        Some(Bar {
            cause: Cause::Unexplained,
            ms,
            grade: None,
            source: words,
        })
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
        let (grade, source) = match self.is_difference() {
            true => {
                let (grade, said) = self.measured(&ms, self.executor_width());
                (grade, self.difference_in_words() + &said)
            }
            false => (grade(terms), source(terms, &self.transfers(terms))),
        };
        Some(self.capped(Bar {
            cause: Cause::Communication,
            ms,
            grade: Some(grade),
            source,
        }))
    }

    fn difference_in_words(&self) -> String {
        format!(
            "the step of TP{} less the half-width model's on one GPU, less the executor's ({})",
            self.workload.tp,
            self.prior(Knob::Executor)
        )
    }

    /// How wide the range of what several processes add is, ms.
    fn executor_width(&self) -> f64 {
        let prior = self.deck.prior(Knob::Executor);
        prior.map_or(0.0, |prior| prior.high - prior.low)
    }

    pub(super) fn half(&self) -> Option<HalfModel> {
        self.half.clone()
    }

    fn held_against_curve(&self) -> Option<HalfModel> {
        let of = |draw: &Draw| draw.half.unwrap_or(draw.ideal);
        self.workload.half.as_ref()?;
        let by_curve =
            |draw: &Draw| draw.communication.unwrap_or(0.0) + draw.hand.get(Knob::Executor);
        let by_own = self.workload.by_own;
        let gap = by_own.then(|| self.range(Draw::unexplained)).flatten();
        Some(HalfModel {
            step: self.range(of)?,
            loss: self.range(|draw| of(draw) - draw.ideal)?,
            difference: self.range(|draw| draw.several - of(draw))?,
            by_curve: by_own.then(|| self.range(by_curve)).flatten(),
            gap,
            agrees: gap.map(|gap| gap.low <= 0.0 && 0.0 <= gap.high),
            contradicts: Vec::new(),
        })
    }

    /// The factors from the curves to the engine that the terms use, each once.
    fn transfers(&self, terms: &[Term]) -> String {
        let is_used = |knob: &Knob| terms.iter().any(|term| term.factors.contains(knob));
        let factors = [
            Knob::Transfer,
            Knob::TransferOfEngine,
            Knob::InTrace,
            Knob::Exposed,
        ];
        let used = factors.into_iter().filter(is_used);
        used.map(|knob| self.prior(knob))
            .collect::<Vec<_>>()
            .join("; ")
    }
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

/// Calls of each kind, size and path with their time, the curves they were read from, and the factor on top.
fn source(terms: &[Term], transfer: &str) -> String {
    let ms = terms.iter().map(Term::base_us).sum::<f64>() / 1e3;
    let times = match transfer.is_empty() {
        true => String::new(),
        false => format!("; times {transfer}"),
    };
    format!(
        "{ms:.2} ms as curve or trace stand, {}{times}",
        calls_in_words(terms)
    )
}

/// Calls of each kind, size and path with their time, and the curves they were read from.
pub(super) fn calls_in_words(terms: &[Term]) -> String {
    let mut groups: Vec<(CollectiveCost, u32)> = Vec::new();
    for Term { cost, .. } in terms {
        let same = |other: &CollectiveCost| {
            (other.kind, other.bytes_per_rank, other.path)
                == (cost.kind, cost.bytes_per_rank, cost.path)
        };
        match groups.iter_mut().find(|(other, _)| same(other)) {
            Some((_, count)) => *count += cost.count,
            None => groups.push((cost.clone(), cost.count)),
        }
    }
    let mut words: Vec<String> = Vec::new();
    for (cost, count) in &groups {
        let size = ByteCount(cost.bytes_per_rank);
        words.push(format!(
            "{count} x {:.1} us for {} of {size}",
            cost.us, cost.kind
        ));
    }
    let mut origins: Vec<&str> = Vec::new();
    for (cost, _) in &groups {
        // What was read off the all-reduce's curve names that curve with more words.
        let is_said = |said: &&str| cost.source.starts_with(*said);
        if !origins.iter().any(is_said) {
            origins.push(&cost.source);
        }
    }
    format!("{}, {}", words.join(" + "), origins.join(" and "))
}
