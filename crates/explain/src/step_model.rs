//! A decode step in parts, on any number of ranks: what a prediction evaluates and an attribution inverts. Collectives are another
//! module's.

use tp_plan::ModelFacts;

use crate::attribute::deck::{Hand, Knob};

/// A step of so many sequences.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StepModel<'a> {
    pub(crate) model: &'a ModelFacts,
    /// Sequences that decode in it.
    pub(crate) batch: u32,
    /// Tokens that a sequence has in the cache, half way through its output.
    pub(crate) context: f64,
}

/// What a step on few ranks says of one on more, ms, collectives aside. The first four sum to the step on more.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Split {
    /// The step on few over the factor between both.
    pub(crate) ideal: f64,
    /// What narrower GEMMs take above their share.
    pub(crate) gemm_loss: f64,
    /// What work that every rank does in full takes above its share.
    pub(crate) unsharded: f64,
    /// The same of the host.
    pub(crate) host: f64,
    /// What the other causes leave for GEMMs on few; below zero where they take more than the step.
    pub(crate) gemm_of_few: f64,
}

impl StepModel<'_> {
    /// Bytes of the cache that a step reads on each rank.
    pub(crate) fn cache(&self, ranks: u32) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "bytes are far below 2^53")]
        let token = self.model.kv_bytes_per_token_on_rank(ranks) as f64;
        f64::from(self.batch) * self.model.tokens_read(self.context) * token
    }

    /// Norms and residuals of a step.
    pub(crate) fn elementwise(&self, hand: &Hand) -> f64 {
        f64::from(self.model.layers) * hand.get(Knob::Elementwise) / 1e3
    }

    /// Attention for a prediction: reading the cache where weights are read at `bytes_per_ms`, and never less than what its kernels take
    /// at any length. Published steps are nearer by this than by the sum of both: from TP1 a median error of 6.6% against 8.4% (n = 60).
    pub(crate) fn attention_or_start(&self, hand: &Hand, bytes_per_ms: f64, ranks: u32) -> f64 {
        let reading = self.cache(ranks) * hand.get(Knob::KvRead) / bytes_per_ms;
        reading.max(self.attention_start(hand))
    }

    /// Attention for an attribution, where both count: the cache write, rotary embedding and launch gaps that are most of what kernels
    /// take at any length hide no reading, and they are what never shards.
    fn attention(&self, hand: &Hand, bytes_per_ms: f64, ranks: u32) -> f64 {
        self.attention_start(hand) + self.cache(ranks) * hand.get(Knob::KvRead) / bytes_per_ms
    }

    fn attention_start(&self, hand: &Hand) -> f64 {
        f64::from(self.model.layers) * hand.get(Knob::Attention) / 1e3
    }

    /// GEMMs on `times` as many ranks, by the gain of one doubling: each further one costs as much again.
    pub(crate) fn narrowed(hand: &Hand, gemm: f64, times: f64) -> f64 {
        gemm / hand.get(Knob::GemmSpeedup).powf(times.log2())
    }

    /// Inverts a step of `few_ms` without its collectives on `few` ranks for `many`.
    pub(crate) fn split(&self, hand: &Hand, few_ms: f64, few: u32, many: u32) -> Split {
        let times = f64::from(many) / f64::from(few);
        // Weights and cache come from the same memory, so that the step itself tells the rate.
        let weights = self.model.weight_bytes_read(self.batch) / f64::from(few);
        let read = weights + self.cache(few) * hand.get(Knob::KvRead);
        let bytes_per_ms = read.max(1.0) / few_ms;
        let of_few = self.attention(hand, bytes_per_ms, few);
        let of_many = self.attention(hand, bytes_per_ms, many);
        let (elementwise, host) = (self.elementwise(hand), hand.get(Knob::Host));
        let gemm_of_few = few_ms - of_few - (elementwise + host);
        let gemm = gemm_of_few.max(0.0);
        Split {
            ideal: few_ms / times,
            gemm_loss: Self::narrowed(hand, gemm, times) - gemm / times,
            unsharded: of_many + elementwise - (of_few + elementwise) / times,
            host: host * (1.0 - 1.0 / times),
            gemm_of_few,
        }
    }
}
