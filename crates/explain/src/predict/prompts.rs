//! Prompts: what one takes on an empty server, and what those of other sequences add to a token.

use tp_plan::Rates;

use super::parts::{Drawn, Size};
use crate::attribute::deck::{Hand, Knob};

/// The parts of a prompt's own work, ms.
struct PromptWork {
    gemm: f64,
    attention: f64,
    /// Norms, residuals and activations, which read and write memory.
    elementwise: f64,
    communication: f64,
}

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
        let decoding = self.math(hand, self.model.flops(f64::from(self.model.batch)), ranks);
        let mixed = drawn.gemm.max(decoding + prompt.gemm * shared)
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
            gemm: self.math(hand, self.model.prompt_flops(self.input_tokens), ranks),
            attention: self.attention_of_prompt(hand) / f64::from(ranks),
            elementwise: self.model.prompt_bytes_moved(self.input_tokens, ranks)
                / rates.bytes_per_ms,
            communication: communication / 1e3,
        }
    }

    /// Attention of a prompt on one GPU, ms; its kernels multiply 16-bit numbers.
    fn attention_of_prompt(&self, hand: &Hand) -> f64 {
        let flops = self.model.prompt_attention_flops(self.input_tokens);
        match &self.peak {
            Some(peak) => flops / (peak.bf16_tflops * hand.get(Knob::PromptAttention) * 1e9),
            None => self.math(hand, flops, 1),
        }
    }

    /// The time to the first token of a prompt that finds the server empty, ms: its multiplications, or the reading of all
    /// weights for each chunk where that takes longer, or the host's launches.
    pub(super) fn prefill(&self, hand: &Hand, rates: &Rates, ranks: u32) -> f64 {
        let steps = self.steps_of_prompt();
        let prompt = self.work_of_prompt(hand, rates, ranks);
        let parts = self.model.parts(&self.costs(hand), rates, ranks);
        let reading = steps * parts.gemm;
        let work = reading.max(prompt.gemm)
            + prompt.attention
            + prompt.elementwise
            + prompt.communication
            + steps * parts.elementwise;
        let executor = if ranks > 1 {
            hand.get(Knob::Executor)
        } else {
            0.0
        };
        work.max(steps * self.launches(hand)) + steps * (hand.get(Knob::Host) + executor)
    }
}
