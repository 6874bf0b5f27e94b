//! The scheduler: which requests are in a step, and what comes out of it.
//!
//! As vLLM's: running requests first, then waiting ones in the order of their arrival, within the step's tokens, the
//! sequences and the key-value blocks. Unlike vLLM's, blocks of a whole request are reserved when it is admitted, so that
//! no request is ever preempted; and there is no prefix cache.

#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::time::Duration;

use crate::noise::Noise;
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
    /// Blocks reserved by the running requests; never above the limit.
    kv_blocks_used: u64,
    steps: u64,
}

/// A request: how long its prompt is and how many tokens are to be generated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    /// A number of the caller's, unique among the requests that wait or run.
    pub id: u64,
    /// Tokens of the prompt.
    pub prompt_tokens: u32,
    /// Tokens to generate; there is no end of sequence before them.
    pub output_tokens: u32,
}

impl Request {
    /// Prompt and output, tokens.
    pub(crate) fn whole_tokens(&self) -> u64 {
        u64::from(self.prompt_tokens) + u64::from(self.output_tokens)
    }
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

/// One token for one request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Emitted {
    /// The request.
    pub id: u64,
    /// Whether it is the request's last token.
    pub finished: bool,
}

#[derive(Debug)]
struct Waiting {
    request: Request,
    submitted: Duration,
}

#[derive(Debug)]
struct Sequence {
    request: Request,
    /// Prompt tokens that have been computed.
    prefilled: u32,
    /// Output tokens that have been emitted.
    emitted: u32,
    /// Blocks reserved for the whole request.
    blocks: u64,
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
    fn decodes(&self) -> bool {
        self.prefilled == self.request.prompt_tokens
    }

    /// Puts tokens into a step and returns those whose keys and values attention then reads.
    fn advance(&mut self, tokens: u32) -> u64 {
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
            steps: 0,
        })
    }

    /// Queues a request that arrives at `now`.
    ///
    /// # Errors
    /// It could never be served, or its number is in use.
    pub fn submit(&mut self, request: Request, now: Duration) -> Result<(), Refused> {
        self.limits.check(&request)?;
        if self.holds(request.id) {
            return Err(Refused::Duplicate(request.id));
        }
        self.waiting.push_back(Waiting {
            request,
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
        for sequence in &mut self.running {
            budget -= forming.put(sequence, budget);
        }
        while budget > 0
            && let Some(mut sequence) = self.admit(now)
        {
            budget -= forming.put(&mut sequence, budget);
            self.running.push(sequence);
        }
        let Forming {
            load,
            prompt_tokens,
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

    /// Takes the oldest waiting request that has arrived, where there is room for it. Nobody overtakes it.
    fn admit(&mut self, now: Duration) -> Option<Sequence> {
        let first = self.waiting.front()?;
        let blocks = self.limits.blocks(&first.request);
        let room = first.submitted <= now
            && self.running.len() < self.max_num_seqs as usize
            && self.kv_blocks_used + blocks <= self.limits.kv_blocks;
        if !room {
            return None;
        }
        self.kv_blocks_used += blocks;
        self.waiting.pop_front().map(|waiting| Sequence {
            request: waiting.request,
            prefilled: 0,
            emitted: 0,
            blocks,
        })
    }

    /// Ends running requests and frees their blocks.
    fn release(&mut self, done: impl Fn(&Sequence) -> bool) {
        let mut freed = 0;
        self.running.retain(|sequence| {
            let done = done(sequence);
            if done {
                freed += sequence.blocks;
            }
            !done
        });
        self.kv_blocks_used -= freed;
    }

    fn holds(&self, id: u64) -> bool {
        self.waiting.iter().any(|waiting| waiting.request.id == id)
            || self
                .running
                .iter()
                .any(|sequence| sequence.request.id == id)
    }
}

/// A step as it fills.
#[derive(Default)]
struct Forming {
    load: StepLoad,
    prompt_tokens: u32,
    emitted: Vec<Emitted>,
}

impl Forming {
    /// Puts what fits of a sequence into the step and returns its tokens.
    fn put(&mut self, sequence: &mut Sequence, budget: u32) -> u32 {
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
