//! One draw: a value for everything that is not known, and the causes that follow from it.

use record::CollectiveKind;
use tp_plan::{Costs, Parts, StepModel};

use super::cost::Term;
use super::deck::{Hand, Knob};
use super::step::{StepTime, Unseen};
use crate::range::Range;

/// The constants behind every draw.
#[derive(Debug, Clone)]
pub(super) struct Workload<'a> {
    pub(super) model: StepModel<'a>,
    /// The size that is compared with.
    pub(super) from: u32,
    /// Its collectives; none of one GPU.
    pub(super) few_terms: Vec<Term>,
    pub(super) tp: u32,
    pub(super) one: StepTime,
    pub(super) several: StepTime,
    /// The model at a rank's width on one GPU, where it was run.
    pub(super) half: Option<StepTime>,
    /// Collectives of a decode step; `None` where there is no curve.
    pub(super) terms: Option<Vec<Term>>,
    /// Collectives of one wave's prefill, all prompts uncached.
    pub(super) prompts: Vec<Term>,
    /// Whether the collectives of a decode step were measured on this box, or traced.
    pub(super) by_own: bool,
    /// What the GEMMs of one GPU take at least, ms.
    pub(super) least_gemm_ms: f64,
    /// Prompts that may be in the steps, where no gap between tokens shows them.
    pub(super) unseen: Option<Unseen>,
    /// What else holds a claim on communication back.
    pub(super) is_doubtful: bool,
}

/// The causes of one draw, ms a step.
#[derive(Debug, Clone, Copy)]
pub(super) struct Draw {
    pub(super) hand: Hand,
    pub(super) one: f64,
    pub(super) several: f64,
    /// Collectives of the size that is compared with.
    pub(super) sent_of_few: f64,
    pub(super) ideal: f64,
    /// What the other causes leave for GEMMs on one GPU; below zero where they take more than the step.
    pub(super) gemm_of_one: f64,
    pub(super) gemm_loss: f64,
    pub(super) unsharded: f64,
    /// The host's work on several less its share on one.
    pub(super) host: f64,
    /// Step of the half-width model; `None` where it was not run.
    pub(super) half: Option<f64>,
    /// `None` where there is no curve.
    pub(super) communication: Option<f64>,
    /// Of it, what all-gathers take.
    pub(super) all_gather: f64,
}

impl Draw {
    pub(super) fn remainder(&self) -> f64 {
        self.several - self.ideal - self.gemm_loss - self.unsharded - self.host
    }

    pub(super) fn unexplained(&self) -> f64 {
        self.remainder() - self.communication.unwrap_or(0.0)
    }
}

impl Workload<'_> {
    /// What communication takes in a hand, ms; 0 where there is no curve.
    pub(super) fn communication(&self, hand: &Hand) -> f64 {
        self.terms
            .as_deref()
            .map_or(0.0, |terms| total_ms(terms, hand))
    }

    pub(super) fn draw(&self, hand: Hand) -> Draw {
        let one = self.one.draw(&hand, 0.0);
        let several = self.several.draw(&hand, total_ms(&self.prompts, &hand));
        let sent_of_few = total_ms(&self.few_terms, &hand);
        let costs = Costs {
            attention_us: hand.get(Knob::Attention),
            elementwise_us: hand.get(Knob::Elementwise),
            host_ms: hand.get(Knob::Host),
            cache_factor: hand.get(Knob::KvRead),
            cache_ms_per_byte: None,
            gemm_starts_ms: hand.gemm_starts_ms(&self.model),
        };
        let rates = self.model.invert(&costs, one - sent_of_few, self.from);
        let few = self.model.parts(&costs, &rates, self.from);
        let many = self.model.parts(&costs, &rates, self.tp);
        let times = f64::from(self.tp) / f64::from(self.from);
        let ideal = (one - sent_of_few) / times;
        let mut gemm_loss = many.gemm - few.gemm / times;
        let replicated = |of: &Parts| of.attention + of.elementwise;
        let mut unsharded = replicated(&many) - replicated(&few) / times;
        let mut host_share = many.host - few.host / times;
        // Workers in processes of their own are there already.
        let executor = match self.from {
            1 => hand.get(Knob::Executor),
            _ => 0.0,
        };
        let gathers = self.terms.iter().flatten();
        let gathers = gathers.filter(|term| term.cost.kind == CollectiveKind::AllGather);
        let half = self.half.as_ref().map(|half| half.draw(&hand, 0.0));
        if let Some(half) = half {
            // What all three take together is measured, and the priors only part it: those of the last two give way.
            let (loss, fixed) = (half - ideal, unsharded + host_share);
            let part = (loss.max(0.0) / fixed.max(f64::MIN_POSITIVE)).min(1.0);
            (unsharded, host_share) = (unsharded * part, host_share * part);
            gemm_loss = loss - unsharded - host_share;
        }
        Draw {
            hand,
            one,
            several,
            ideal,
            gemm_of_one: rates.gemm_ms,
            gemm_loss,
            unsharded,
            host: host_share + executor,
            sent_of_few,
            half,
            communication: self.terms.is_some().then(|| self.communication(&hand)),
            all_gather: gathers.map(|term| term.us(&hand)).sum::<f64>() / 1e3,
        }
    }
}

/// Milliseconds of collectives in a hand.
pub(super) fn total_ms(terms: &[Term], hand: &Hand) -> f64 {
    terms.iter().map(|term| term.us(hand)).sum::<f64>() / 1e3
}

pub(super) fn range(draws: &[Draw], of: impl Fn(&Draw) -> f64) -> Option<Range> {
    let values: Vec<f64> = draws.iter().map(of).collect();
    Range::of(&values)
}
