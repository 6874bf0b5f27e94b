//! Prompts: what one takes on an empty server, and what those of other sequences add to a token.

use super::parts::{Drawn, Rates, Size};
use crate::attribute::deck::{Hand, Knob};

/// The parts of a prompt's own work, ms.
struct PromptWork {
    gemm: f64,
    attention: f64,
    /// Norms, residuals and activations, which read and write memory.
    elementwise: f64,
    communication: f64,
}

/// Times that norms, residuals, rotary embeddings and casts of a layer read or write a token's hidden state, on every rank.
const HIDDEN_MOVED: f64 = 10.0;

/// Times that the activation between two GEMMs reads or writes a token's feed-forward width, a share of it on each rank.
const WIDTH_MOVED: f64 = 4.0;

impl Size<'_> {
    /// What the prompts of the other sequences add to a token, ms.
    ///
    /// While a sequence decodes, every other slot takes a new prompt once; those that fall into its own time to first token it
    /// does not see. A prompt rides along with a step of those that decode: the weights are read once for both, and no graph
    /// holds such a step, so that the host may be what it waits for.
    pub(super) fn added(&self, hand: &Hand, rates: &Rates, drawn: &Drawn, ranks: u32) -> f64 {
        let steps = self.steps_of_prompt();
        let others = f64::from(self.model.batch.saturating_sub(1));
        // Chunks of prompts for each token; where there is more than one, they share a step.
        let chunks = hand.get(Knob::PromptsSeen) * others * steps / self.output_tokens;
        let (seen, shared) = (chunks.min(1.0), chunks.max(1.0) / steps);
        let prompt = self.work_of_prompt(hand, rates, ranks);
        let decoding = rates.math(self.flops(f64::from(self.model.batch)), ranks);
        let reading = drawn.gemm + drawn.half;
        let mixed = reading.max(decoding + prompt.gemm * shared)
            + (prompt.attention + prompt.elementwise + prompt.communication) * shared
            + drawn.attention
            + drawn.elementwise
            + hand.get(Knob::Host)
            + drawn.executor;
        let host = self.launches(hand) + self.host_floor(hand);
        seen * (mixed.max(host) - drawn.step()).max(0.0)
    }

    /// What the host takes to launch a step that no graph holds, ms.
    fn launches(&self, hand: &Hand) -> f64 {
        f64::from(self.model.model.layers) * hand.get(Knob::Launches) / 1e3
    }

    fn steps_of_prompt(&self) -> f64 {
        (self.input_tokens / self.chunk).ceil().max(1.0)
    }

    /// What a whole prompt's own work takes, ms.
    fn work_of_prompt(&self, hand: &Hand, rates: &Rates, ranks: u32) -> PromptWork {
        let several = if ranks > 1 {
            &self.prefill_terms[..]
        } else {
            &[]
        };
        let communication: f64 = several.iter().map(|term| term.us(hand)).sum();
        PromptWork {
            gemm: rates.math(self.flops_of_prompt(), ranks),
            attention: self.attention_of_prompt(hand, rates) / f64::from(ranks),
            elementwise: self.moved(ranks) / rates.bytes_per_ms,
            communication: communication / 1e3,
        }
    }

    /// Multiplications and additions of a prompt's GEMMs; the output head has one row for all of it.
    fn flops_of_prompt(&self) -> f64 {
        let model = self.model.model;
        let head = 2.0 * f64::from(model.vocab) * f64::from(model.hidden);
        self.flops(self.input_tokens) - (self.input_tokens - 1.0).max(0.0) * head
    }

    /// Bytes that a prompt's elementwise work moves on a rank.
    fn moved(&self, ranks: u32) -> f64 {
        let model = self.model.model;
        let width = match model.experts {
            Some(experts) => experts.per_token * experts.intermediate,
            None => model.intermediate,
        };
        let of_token = HIDDEN_MOVED * f64::from(model.hidden)
            + WIDTH_MOVED * f64::from(width) / f64::from(ranks);
        let bytes = f64::from(model.layers) * f64::from(model.activation_bytes) * of_token;
        self.input_tokens * bytes
    }

    /// Attention of a prompt on one GPU, ms. Each token meets half of the prompt in the mean, in two products of a
    /// multiplication and an addition; kernels of prompts multiply 16-bit numbers.
    fn attention_of_prompt(&self, hand: &Hand, rates: &Rates) -> f64 {
        let model = self.model.model;
        let width = f64::from(model.heads) * f64::from(model.head_dim);
        let met = model.tokens_read(self.input_tokens / 2.0);
        let flops = 4.0 * self.input_tokens * met * width * f64::from(model.layers);
        match &self.peak {
            Some(peak) => flops / (peak.bf16_tflops * hand.get(Knob::PromptAttention) * 1e9),
            None => rates.math(flops, 1),
        }
    }

    /// The time to the first token of a prompt that finds the server empty, ms: its multiplications, or the reading of all
    /// weights for each chunk where that takes longer, or the host's launches.
    pub(super) fn prefill(&self, hand: &Hand, rates: &Rates, ranks: u32) -> f64 {
        let steps = self.steps_of_prompt();
        let prompt = self.work_of_prompt(hand, rates, ranks);
        let reading = steps * self.gemm(hand, rates, ranks);
        let work = reading.max(prompt.gemm)
            + prompt.attention
            + prompt.elementwise
            + prompt.communication
            + steps * (self.on_every_rank(hand) - hand.get(Knob::Host));
        let executor = if ranks > 1 {
            hand.get(Knob::Executor)
        } else {
            0.0
        };
        work.max(steps * self.launches(hand)) + steps * (hand.get(Knob::Host) + executor)
    }
}
