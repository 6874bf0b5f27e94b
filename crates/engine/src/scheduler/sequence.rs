//! One running request, and a step as running requests fill it.

use crate::StepLoad;
use crate::prefix::PrefixCache;
use crate::request::{Admitted, Emitted, Request};

/// A running request.
#[derive(Debug)]
pub(super) struct Sequence {
    pub(super) request: Request,
    /// Prompt tokens that have been computed, or taken from the cache.
    pub(super) prefilled: u32,
    /// Output tokens that have been emitted.
    pub(super) emitted: u32,
    /// Blocks reserved for it that are in no cache.
    pub(super) own_blocks: u64,
    /// Keys of the prompt's whole blocks.
    pub(super) keys: Vec<u64>,
    /// How many of these have been computed and looked at.
    pub(super) entered: usize,
    /// Keys of the cached blocks that it uses.
    pub(super) held: Vec<u64>,
}

impl Sequence {
    /// Tokens that it would put into a step.
    fn pending(&self) -> u32 {
        match self.request.prompt_tokens - self.prefilled {
            0 => 1,
            rest => rest,
        }
    }

    /// Whether its prompt has been computed.
    pub(super) fn decodes(&self) -> bool {
        self.prefilled == self.request.prompt_tokens
    }

    /// Puts tokens into a step and returns those whose keys and values attention then reads.
    pub(super) fn advance(&mut self, tokens: u32) -> u64 {
        if !self.decodes() {
            self.prefilled += tokens;
        }
        // The last emitted token goes through the model now, so it counts in a decoding step.
        let context = u64::from(self.prefilled) + u64::from(self.emitted);
        if self.decodes() {
            self.emitted += 1;
        }
        context
    }

    /// Enters the blocks of its prompt that are full by now. One that is there already, computed by another, stays its own.
    pub(super) fn enter(&mut self, cache: &mut PrefixCache, block_tokens: u32) {
        let full = (self.prefilled / block_tokens) as usize;
        let full = full.min(self.keys.len());
        for key in &self.keys[self.entered.min(full)..full] {
            if cache.enter(*key) {
                self.held.push(*key);
                self.own_blocks -= 1;
            }
        }
        self.entered = self.entered.max(full);
    }
}

/// A step as it fills.
#[derive(Default)]
pub(super) struct Forming {
    pub(super) load: StepLoad,
    pub(super) prompt_tokens: u32,
    pub(super) admitted: Vec<Admitted>,
    pub(super) emitted: Vec<Emitted>,
}

impl Forming {
    /// Puts what fits of a sequence into the step and returns its tokens.
    pub(super) fn put(&mut self, sequence: &mut Sequence, budget: u32) -> u32 {
        let tokens = sequence.pending().min(budget);
        if tokens == 0 {
            return 0;
        }
        if !sequence.decodes() {
            self.prompt_tokens += tokens;
        }
        let before = sequence.emitted;
        self.load.context_tokens += sequence.advance(tokens);
        self.load.sequences += 1;
        self.load.tokens += tokens;
        if sequence.emitted > before {
            self.emitted.push(Emitted {
                id: sequence.request.id,
                finished: sequence.emitted == sequence.request.output_tokens,
            });
        }
        tokens
    }
}
