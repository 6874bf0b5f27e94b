//! The bars of an attribution, each with its grade and what it rests on.

use measure::record::CollectiveKind;
use measure::unit::ByteCount;

use super::cost::Term;
use super::deck::{Deck, Knob};
use super::draws::{Draw, Workload};
use super::result::{Bar, Cause, Claim, CollectiveCost, Grade, HalfModel};
use super::work::range;
use crate::range::Range;

/// The draws that bars are made of.
pub(super) struct Shown<'a> {
    workload: &'a Workload<'a>,
    deck: &'a Deck,
    draws: &'a [Draw],
    claim: &'a Claim,
    /// Collectives by this box's curve or a trace, and not by a curve of another box.
    by_own: bool,
}

impl<'a> Shown<'a> {
    pub(super) fn new(
        workload: &'a Workload<'a>,
        deck: &'a Deck,
        draws: &'a [Draw],
        claim: &'a Claim,
    ) -> Self {
        let terms = workload.terms.as_deref();
        Self {
            workload,
            deck,
            draws,
            claim,
            by_own: terms.is_some_and(|terms| grade(terms) <= Grade::C),
        }
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
            bars.extend(self.all_reduce());
            bars.extend(self.all_gather());
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
        let (gemm_grade, gemm_source) = match (self.half(), self.deck.prior(Knob::GemmSpeedup)) {
            (Some(half), _) => (
                Grade::A,
                format!(
                    "the half-width model's step less 1/{tp} of TP1's, {} ms, less what never shards",
                    half.loss.with_decimals(2)
                ),
            ),
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
            bar(
                Cause::NarrowGemm,
                self.range(|draw| draw.gemm_loss)?,
                Some(gemm_grade),
                gemm_source,
            ),
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
        if self.by_half() && !self.by_own {
            // What another box's curve says of the all-gather is small; all else is measured.
            return Some(Bar {
                cause: Cause::AllReduce,
                ms: self.range(|draw| draw.remainder() - draw.all_gather)?,
                grade: Some(Grade::A),
                source: self.difference_in_words(),
            });
        }
        let of = |draw: &Draw| draw.communication.unwrap_or(0.0) - draw.all_gather;
        (!terms.is_empty()).then(|| self.of_terms(Cause::AllReduce, &terms, of))?
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
            Claim::Estimated if self.by_half() && self.by_own => (
                Draw::unexplained,
                format!(
                    "the step of TP{tp} less the half-width model's, less the executor and what curve or trace give the collectives"
                ),
            ),
            Claim::Estimated if self.by_half() => (
                |_| 0.0,
                "nothing: what the half-width model does not take is communication, and no curve of this box checks it".to_owned(),
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
        Some(Bar {
            cause: Cause::Unexplained,
            ms: self.range(of)?,
            grade: None,
            source: words,
        })
    }

    /// What communication is in a draw; `None` where there is no bar of it.
    pub(super) fn communication_of_draw(&self) -> Option<fn(&Draw) -> f64> {
        match (self.claim, self.by_half()) {
            (Claim::Estimated, true) => Some(Draw::remainder),
            (Claim::Estimated, false) => Some(|draw| draw.communication.unwrap_or(0.0)),
            _ => None,
        }
    }

    /// All collectives together.
    pub(super) fn communication(&self) -> Option<Bar> {
        let ms = self.range(self.communication_of_draw()?)?;
        let terms = self.workload.terms.as_deref().unwrap_or_default();
        let (grade, source) = match self.by_half() {
            true => (Grade::A, self.difference_in_words()),
            false => (grade(terms), source(terms, &self.transfers(terms))),
        };
        Some(Bar {
            cause: Cause::Communication,
            ms,
            grade: Some(grade),
            source,
        })
    }

    fn difference_in_words(&self) -> String {
        format!(
            "the step of TP{} less the half-width model's on one GPU, less the executor's ({})",
            self.workload.tp,
            self.prior(Knob::Executor)
        )
    }

    /// What the half-width model measured; `None` where it was not run.
    pub(super) fn half(&self) -> Option<HalfModel> {
        let of = |draw: &Draw| draw.half.unwrap_or(draw.ideal);
        self.workload.half.as_ref()?;
        let by_curve =
            |draw: &Draw| draw.communication.unwrap_or(0.0) + draw.hand.get(Knob::Executor);
        let gap = self.by_own.then(|| self.range(Draw::unexplained)).flatten();
        Some(HalfModel {
            step: self.range(of)?,
            loss: self.range(|draw| of(draw) - draw.ideal)?,
            difference: self.range(|draw| draw.several - of(draw))?,
            by_curve: self.by_own.then(|| self.range(by_curve)).flatten(),
            gap,
            agrees: gap.map(|gap| gap.low <= 0.0 && 0.0 <= gap.high),
        })
    }

    /// The factors from the curves to the engine that the terms use, each once.
    fn transfers(&self, terms: &[Term]) -> String {
        let is_used = |knob: &Knob| terms.iter().any(|term| term.factors.contains(knob));
        let used = [Knob::Transfer, Knob::TransferOfEngine, Knob::InTrace]
            .into_iter()
            .filter(is_used);
        used.map(|knob| self.prior(knob))
            .collect::<Vec<_>>()
            .join("; ")
    }
}

impl HalfModel {
    /// How the difference stands to the curve; `None` where there is none of this box.
    pub(crate) fn in_words(&self) -> Option<String> {
        let (by_curve, gap) = (self.by_curve?, self.gap?);
        let both = format!(
            "the half-width model leaves {} ms for collectives and executor, curve or trace give them {} ms",
            self.difference.with_decimals(2),
            by_curve.with_decimals(2)
        );
        let gap_in_words = gap.with_decimals(2);
        Some(match self.agrees? {
            true => format!("{both}: they agree (gap {gap_in_words} ms)"),
            false if gap.low > 0.0 => format!(
                "{both}: they disagree by {gap_in_words} ms, which calls alone do not take: ranks that wait for each other, contention, the host, or a path that is not the engine's"
            ),
            false => format!(
                "{both}: they disagree by {gap_in_words} ms, so the engine does them faster: another path than was timed, or overlap"
            ),
        })
    }
}

/// The grade of what makes up nine tenths of the time.
pub(super) fn grade(terms: &[Term]) -> Grade {
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
    format!(
        "{}, {}; {transfer}",
        words.join(" + "),
        origins.join(" and ")
    )
}
