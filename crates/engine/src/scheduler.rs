//! The scheduler: which requests are in a step, and what comes out of it.
//!
//! As vLLM's: running requests first, then waiting ones in the order of their arrival, within the step's tokens, the
//! sequences and the key-value blocks; with prefix caching, a prompt's first blocks are taken from earlier prompts. Unlike
//! vLLM's, blocks of a whole request are reserved when it is admitted, so that no request is ever preempted; and blocks of
//! replies are not cached.

#[cfg(test)]
mod prefix_tests;
mod sequence;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::time::Duration;

use self::sequence::{Forming, Sequence};
use crate::noise::Noise;
use crate::prefix::{PrefixCache, PrefixCounts};
use crate::request::{Admitted, Emitted, Request};
use crate::{EngineError, Limits, Refused, StepLoad, StepParts, StepTime};

/// A serving engine in virtual time. Instants are durations since an arbitrary start and must not go backwards.
#[derive(Debug)]
pub struct Engine {
    step_time: StepTime,
    limits: Limits,
    /// Sequences in one step at most, not above the tokens of one step.
    max_num_seqs: u32,
    noise: Noise,
    waiting: VecDeque<Waiting>,
    /// Oldest first. At most the last one is in the middle of its prompt when a step has been formed, because nobody is
    /// admitted behind a prompt that did not fit whole.
    running: Vec<Sequence>,
    /// Blocks reserved by the running requests, those that several share counted once; never above the limit.
    kv_blocks_used: u64,
    /// Blocks of prompts by what stands in them; `None` where prefix caching is off.
    cache: Option<PrefixCache>,
    steps: u64,
}

/// One step.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    /// Number of the step, from 0.
    pub number: u64,
    /// When it began.
    pub started: Duration,
    /// How long it takes, microseconds: the sum of the parts times the noise factor.
    pub duration_us: f64,
    /// What it is made of, before noise.
    pub parts: StepParts,
    /// The noise factor; 1 where the profile has no noise.
    pub noise_factor: f64,
    /// What goes through it.
    pub load: StepLoad,
    /// Those of its tokens that come from prompts.
    pub prompt_tokens: u32,
    /// Requests that were admitted for it, in that order.
    pub admitted: Vec<Admitted>,
    /// Requests that get one token each at the step's end, in the order of their admission.
    pub emitted: Vec<Emitted>,
}

impl Step {
    /// When its tokens are there and the next step may begin.
    #[must_use]
    pub fn ends(&self) -> Duration {
        self.started + Duration::from_secs_f64(self.duration_us * 1e-6)
    }
}

#[derive(Debug)]
struct Waiting {
    request: Request,
    /// Keys of the prompt's whole blocks, for the prefix cache.
    keys: Vec<u64>,
    /// Prompt tokens whose keys and values another engine has computed.
    loaded: u32,
    submitted: Duration,
}

impl Engine {
    /// An engine with nothing to do.
    ///
    /// # Errors
    /// A limit is 0 or contradicts another, or no time is known for a collective that its steps may need.
    pub fn new(step_time: StepTime, limits: Limits) -> Result<Self, EngineError> {
        let facts = step_time.engine();
        let batched = facts.max_batched_tokens;
        let sequences = facts.max_num_seqs.unwrap_or(batched);
        if sequences == 0 || limits.max_model_len == 0 || limits.block_tokens == 0 {
            return Err(EngineError::Limits(
                "sequences, sequence length and block size must be 1 or more".to_owned(),
            ));
        }
        if batched < sequences {
            return Err(EngineError::Limits(format!(
                "{batched} batched tokens are fewer than {sequences} sequences; raise --max-num-batched-tokens or lower --max-num-seqs"
            )));
        }
        // The smallest and the largest steps meet every kind and path of collective.
        for (count, tokens) in [(1, 1), (sequences, sequences), (1, batched)] {
            step_time.parts(StepLoad {
                sequences: count,
                tokens,
                context_tokens: u64::from(tokens),
            })?;
        }
        let noise = Noise::new(step_time.profile().noise_cv, step_time.profile().noise_seed);
        Ok(Self {
            step_time,
            limits,
            max_num_seqs: sequences,
            noise,
            waiting: VecDeque::new(),
            running: Vec::new(),
            kv_blocks_used: 0,
            cache: None,
            steps: 0,
        })
    }

    /// The engine with prefix caching: what [`Engine::submit_with_prefix`] names is kept for later requests.
    #[must_use]
    pub fn with_prefix_caching(self) -> Self {
        Self {
            cache: Some(PrefixCache::default()),
            ..self
        }
    }

    /// Queues a request that arrives at `now` and whose prompt is like no other.
    ///
    /// # Errors
    /// It could never be served, or its number is in use.
    pub fn submit(&mut self, request: Request, now: Duration) -> Result<(), Refused> {
        self.submit_with_prefix(request, Vec::new(), now)
    }

    /// As [`Engine::submit`], with a key for each whole block of [`Limits::block_tokens`] tokens that the prompt begins with. A
    /// key stands for its block and all before it; two prompts have a key in common where they are the same up to there.
    ///
    /// # Errors
    /// It could never be served, or its number is in use.
    pub fn submit_with_prefix(
        &mut self,
        request: Request,
        keys: Vec<u64>,
        now: Duration,
    ) -> Result<(), Refused> {
        self.queue(request, keys, 0, now)
    }

    /// As [`Engine::submit`], where another engine has computed the prompt and its keys and values are here: the first step computes
    /// its last token only, as vLLM's and SGLang's decode engines do.
    ///
    /// # Errors
    /// It could never be served, or its number is in use.
    pub fn submit_loaded(&mut self, request: Request, now: Duration) -> Result<(), Refused> {
        let loaded = request.prompt_tokens.saturating_sub(1);
        self.queue(request, Vec::new(), loaded, now)
    }

    fn queue(
        &mut self,
        request: Request,
        keys: Vec<u64>,
        loaded: u32,
        now: Duration,
    ) -> Result<(), Refused> {
        self.limits.check(&request)?;
        if self.holds(request.id) {
            return Err(Refused::Duplicate(request.id));
        }
        self.waiting.push_back(Waiting {
            request,
            keys,
            loaded,
            submitted: now,
        });
        Ok(())
    }

    /// Drops a request, waiting or running, and returns whether there was one.
    pub fn cancel(&mut self, id: u64) -> bool {
        let before = self.waiting.len() + self.running.len();
        self.waiting.retain(|waiting| waiting.request.id != id);
        self.release(|sequence| sequence.request.id == id);
        self.waiting.len() + self.running.len() < before
    }

    /// Forms the next step at `now`; `None` where nothing has arrived. The caller waits until [`Step::ends`] before it asks
    /// for the next one.
    ///
    /// # Errors
    /// No time is known for a collective of the step.
    pub fn step(&mut self, now: Duration) -> Result<Option<Step>, EngineError> {
        let mut forming = Forming::default();
        let mut budget = self.step_time.engine().max_batched_tokens;
        let block_tokens = self.limits.block_tokens;
        for sequence in &mut self.running {
            budget -= forming.put(sequence, budget);
            if let Some(cache) = &mut self.cache {
                sequence.enter(cache, block_tokens);
            }
        }
        while budget > 0
            && let Some(mut sequence) = self.admit(now)
        {
            forming.admitted.push(Admitted {
                id: sequence.request.id,
                cached_tokens: sequence.prefilled,
            });
            budget -= forming.put(&mut sequence, budget);
            // At once, so that the next of this step finds them: attention writes keys and values before it reads them.
            if let Some(cache) = &mut self.cache {
                sequence.enter(cache, block_tokens);
            }
            self.running.push(sequence);
        }
        let Forming {
            load,
            prompt_tokens,
            admitted,
            emitted,
        } = forming;
        if load.sequences == 0 {
            return Ok(None);
        }
        self.release(|sequence| sequence.emitted == sequence.request.output_tokens);

        let parts = self.step_time.parts(load)?;
        let noise_factor = self.noise.factor();
        let step = Step {
            number: self.steps,
            started: now,
            duration_us: parts.total_us() * noise_factor,
            parts,
            noise_factor,
            load,
            prompt_tokens,
            admitted,
            emitted,
        };
        self.steps += 1;
        Ok(Some(step))
    }

    /// Requests in the latest step that are not done.
    #[must_use]
    pub fn running(&self) -> usize {
        self.running.len()
    }

    /// Requests that have not been admitted yet.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// Reserved part of the key-value blocks, 0 to 1.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "blocks are far below 2^53")]
    pub fn kv_used(&self) -> f64 {
        self.kv_blocks_used as f64 / self.limits.kv_blocks as f64
    }

    /// The limits.
    #[must_use]
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// What the prefix cache was asked and had; zeros without one.
    #[must_use]
    pub fn prefix_counts(&self) -> PrefixCounts {
        self.cache
            .as_ref()
            .map_or_else(PrefixCounts::default, |cache| cache.counts)
    }

    /// Takes the oldest waiting request that has arrived, where there is room for it. Nobody overtakes it.
    fn admit(&mut self, now: Duration) -> Option<Sequence> {
        let first = self.waiting.front()?;
        let hits = self.hits(first);
        let whole = self.limits.blocks(&first.request);
        // Blocks that others use are reserved already.
        let idle = self
            .cache
            .as_ref()
            .map_or(0, |cache| cache.unused_among(&first.keys[..hits]));
        let needed = whole - hits as u64 + idle as u64;
        let room = first.submitted <= now
            && self.running.len() < self.max_num_seqs as usize
            && self.kv_blocks_used + needed <= self.limits.kv_blocks;
        if !room {
            return None;
        }
        let Waiting {
            request,
            keys,
            loaded,
            ..
        } = self.waiting.pop_front()?;
        self.kv_blocks_used += needed;
        let mut prefilled = loaded;
        if let Some(cache) = &mut self.cache {
            keys[..hits].iter().for_each(|key| cache.hold(*key));
            cache.shrink(self.limits.kv_blocks - self.kv_blocks_used);
            let hit = u32::try_from(hits).unwrap_or(u32::MAX) * self.limits.block_tokens;
            prefilled = prefilled.max(hit);
            cache.counts.queried_tokens += u64::from(request.prompt_tokens);
            cache.counts.hit_tokens += u64::from(hit);
        }
        Some(Sequence {
            request,
            prefilled,
            emitted: 0,
            own_blocks: whole - hits as u64,
            held: keys[..hits].to_vec(),
            entered: hits,
            keys,
        })
    }

    /// Blocks at the beginning of a prompt that are in the cache. Its last token is computed in any case: the first token of the
    /// reply comes out of it.
    fn hits(&self, waiting: &Waiting) -> usize {
        let before_last = (waiting.request.prompt_tokens - 1) / self.limits.block_tokens;
        let most = waiting.keys.len().min(before_last as usize);
        self.cache
            .as_ref()
            .map_or(0, |cache| cache.hits(&waiting.keys[..most]))
    }

    /// Ends running requests and frees their blocks; those of the cache that nobody uses any more stay there as long as there is
    /// room.
    fn release(&mut self, done: impl Fn(&Sequence) -> bool) {
        let Self {
            running,
            cache,
            kv_blocks_used,
            ..
        } = self;
        running.retain(|sequence| {
            if !done(sequence) {
                return true;
            }
            *kv_blocks_used -= sequence.own_blocks;
            // From the end on: a prompt's beginning is worth more than what follows it.
            for key in sequence.held.iter().rev() {
                if cache.as_mut().is_some_and(|cache| cache.release(*key)) {
                    *kv_blocks_used -= 1;
                }
            }
            false
        });
    }

    fn holds(&self, id: u64) -> bool {
        self.waiting.iter().any(|waiting| waiting.request.id == id)
            || self
                .running
                .iter()
                .any(|sequence| sequence.request.id == id)
    }
}
