//! One draw: a value for everything that is not known, and the causes that follow from it.

use measure::record::CollectiveKind;
use tp_plan::ModelFacts;

use super::attention::attention_in_parts_ms;
use super::cost::Term;
use super::deck::{Hand, Knob};
use super::held_back::HeldBack;
use super::prompts::Prompts;
use super::step::StepTime;
use super::unseen::Unseen;

/// The constants behind every draw.
#[derive(Debug, Clone)]
pub(super) struct Workload<'a> {
    pub(super) model: &'a ModelFacts,
    pub(super) tp: u32,
    pub(super) batch: u32,
    pub(super) one: StepTime,
    pub(super) several: StepTime,
    /// The model at a rank's width on one GPU, where it was run.
    pub(super) half: Option<StepTime>,
    /// Collectives of a decode step; `None` where there is no curve.
    pub(super) terms: Option<Vec<Term>>,
    /// Collectives of one wave's prefill, all prompts uncached.
    pub(super) prompts: Prompts,
    /// Whether the collectives of a decode step were measured on this box, or traced.
    pub(super) by_own: bool,
    /// What the GEMMs of one GPU take at least, ms.
    pub(super) least_gemm_ms: f64,
    /// Tokens that a sequence has in the cache, half way through its output.
    pub(super) context: f64,
    /// Prompts that may be in the steps, where no gap between tokens shows them.
    pub(super) unseen: Option<Unseen>,
    /// What else holds a claim on communication back.
    pub(super) held_back: HeldBack,
    /// Why what the half-width model leaves is no evidence of communication's time; `None` where it is, or was not run.
    pub(super) not_proven: Option<String>,
}

/// The causes of one draw, ms a step.
#[derive(Debug, Clone, Copy)]
pub(super) struct Draw {
    pub(super) hand: Hand,
    pub(super) one: f64,
    pub(super) several: f64,
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
        let terms = self.terms.iter().flatten();
        terms.map(|term| term.us(hand)).sum::<f64>() / 1e3
    }

    /// What a step's collectives take as curve or trace have them, ms; 0 where there is neither.
    pub(super) fn face_ms(&self) -> f64 {
        let terms = self.terms.iter().flatten();
        terms.map(Term::base_us).sum::<f64>() / 1e3
    }

    pub(super) fn draw(&self, hand: Hand) -> Draw {
        let one = self.one.draw(&hand, 0.0);
        let several = self.several.draw(&hand, self.prompts.ms(&hand));
        let ranks = f64::from(self.tp);
        let layers = f64::from(self.model.layers);
        let elementwise = layers * hand.get(Knob::Elementwise) / 1e3;
        let host = hand.get(Knob::Host);
        let whole = elementwise + host;
        let attention_of_one = self.attention(&hand, one, 1);
        let attention_of_several = self.attention(&hand, one, self.tp);
        let gemm_of_one = one - attention_of_one - whole;
        let gemm = gemm_of_one.max(0.0);
        // The prior is the gain of one halving; each further one costs as much again.
        let speedup = hand.get(Knob::GemmSpeedup).powf(ranks.log2());
        let gathers = self.terms.iter().flatten();
        let gathers = gathers.filter(|term| term.cost.kind == CollectiveKind::AllGather);
        let ideal = one / ranks;
        let mut gemm_loss = gemm * (1.0 / speedup - 1.0 / ranks);
        let mut unsharded =
            attention_of_several + elementwise - (attention_of_one + elementwise) / ranks;
        let mut host_share = host * (1.0 - 1.0 / ranks);
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
            gemm_of_one,
            gemm_loss,
            unsharded,
            host: host_share + hand.get(Knob::Executor),
            half,
            communication: self.terms.is_some().then(|| self.communication(&hand)),
            all_gather: gathers.map(|term| term.us(&hand)).sum::<f64>() / 1e3,
        }
    }

    /// Attention of a step, ms: reading the cache, which is shared out over ranks up to the number of key-value heads, on top of
    /// what its kernels take at any length.
    fn attention(&self, hand: &Hand, one_ms: f64, ranks: u32) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "bytes are far below 2^53")]
        let on_rank = self.model.kv_bytes_per_token_on_rank(ranks) as f64;
        let cache = f64::from(self.batch) * self.context * on_rank;
        #[expect(clippy::cast_precision_loss, reason = "bytes are far below 2^53")]
        let whole_cache =
            f64::from(self.batch) * self.context * self.model.kv_bytes_per_token() as f64;
        // Weights and cache come from the same memory, so that the step itself tells the rate.
        let read = self.model.weight_bytes_read(self.batch) + whole_cache * hand.get(Knob::KvRead);
        attention_in_parts_ms(self.model, hand, cache, read.max(1.0) / one_ms)
    }
}
