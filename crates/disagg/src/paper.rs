//! Prefill and decode engines on paper: the load that they keep up with within limits of latency, beside aggregated engines.
//!
//! Whoever asks knows what a prompt and a decode step take. Prompts come at random and one after the other through a prefill engine, so
//! that they wait as in a queue of one server with a fixed time of service; its tail is taken as exponential.

use crate::ratio::{Capacity, DECODE_SHARE, Limit, PREFILL_SHARE, Plan, Slo, solve};

/// The part of waiting times that a 99th percentile leaves out.
const TAIL: f64 = 0.01;

/// Halvings of an interval: 2^-40 of it is left.
const HALVINGS: u32 = 40;

/// A decode step of so many sequences, seconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StepAt {
    /// Sequences.
    pub batch: f64,
    /// Without prompts beside it.
    pub alone_s: f64,
    /// Time per token where prompts of other requests share steps with it.
    pub mixed_s: f64,
}

/// What requests of one length take on engines of each kind.
#[derive(Debug, Clone, PartialEq)]
pub struct Paper {
    /// Tokens of a reply.
    pub output_tokens: f64,
    /// A prompt on a prefill engine with nothing else to do, s.
    pub prefill_s: f64,
    /// A prompt on an aggregated engine with nothing else to do, s.
    pub beside_s: f64,
    /// Steps that a prompt takes there.
    pub chunks: f64,
    /// Keys and values of a prompt on the link, s.
    pub transfer_s: f64,
    /// Decode steps by batch, ascending and at least one; the last is the most sequences that an engine holds.
    pub steps: Vec<StepAt>,
    /// What holds no more: sequences or memory of keys and values.
    pub full: Limit,
    /// GPUs of a prefill engine.
    pub prefill_gpus: u32,
    /// GPUs of a decode engine, and of an aggregated one.
    pub decode_gpus: u32,
}

/// What an arrangement does at its largest load within the limits. Seconds.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct Figures {
    /// Requests a second of all engines.
    pub requests_per_s: f64,
    /// Mean wait for other prompts.
    pub wait_s: f64,
    /// Its 99th percentile.
    pub wait_p99_s: f64,
    /// The prompt.
    pub prefill_s: f64,
    /// Keys and values on the link.
    pub transfer_s: f64,
    /// The step that gives the first token; of an aggregated engine the prompt's own.
    pub first_step_s: f64,
    /// Time per output token.
    pub tpot_s: f64,
    /// 99th percentile of the time between tokens.
    pub itl_p99_s: f64,
    /// Sequences that decode on an engine.
    pub batch: f64,
    /// Part of the time in which a prefill engine works.
    pub prefill_busy: f64,
}

impl Figures {
    /// Mean time to first token, s.
    #[must_use]
    pub fn ttft_s(&self) -> f64 {
        self.wait_s + self.prefill_s + self.transfer_s + self.first_step_s
    }

    /// Its 99th percentile, s.
    #[must_use]
    pub fn ttft_p99_s(&self) -> f64 {
        self.ttft_s() - self.wait_s + self.wait_p99_s
    }
}

/// Mean wait and its 99th percentile where service of so many seconds takes this part of the time.
#[must_use]
pub fn wait(busy: f64, service_s: f64) -> (f64, f64) {
    let mean = busy * service_s / (2.0 * (1.0 - busy));
    // Who waits at all, the busy part, waits mean / busy.
    let tail = (busy / TAIL).ln().max(0.0) * mean / busy.max(f64::MIN_POSITIVE);
    (mean, tail)
}

/// The largest value up to `most` that is allowed, where all below an allowed one are allowed.
fn largest(most: f64, is_allowed: impl Fn(f64) -> bool) -> f64 {
    if is_allowed(most) {
        return most;
    }
    let (mut low, mut high) = (0.0, most);
    for _ in 0..HALVINGS {
        let middle = f64::midpoint(low, high);
        if is_allowed(middle) {
            low = middle;
        } else {
            high = middle;
        }
    }
    low
}

impl Paper {
    /// The most sequences that an engine holds.
    #[must_use]
    pub fn most(&self) -> f64 {
        self.steps.last().map_or(1.0, |step| step.batch)
    }

    /// A step of so many sequences: between its neighbours in the table by powers, below the first as the first.
    fn step(&self, batch: f64, of: fn(&StepAt) -> f64) -> f64 {
        let above = self.steps.iter().position(|step| step.batch >= batch);
        let above = above.unwrap_or(self.steps.len().saturating_sub(1));
        let (low, high) = (&self.steps[above.saturating_sub(1)], &self.steps[above]);
        if above == 0 || batch >= high.batch {
            return of(high);
        }
        let share = (batch / low.batch).ln() / (high.batch / low.batch).ln();
        of(low) * (of(high) / of(low)).powf(share)
    }

    /// Requests a second of a decode engine with so many sequences.
    fn decoded(&self, batch: f64) -> f64 {
        batch / (self.output_tokens * self.step(batch, |step| step.alone_s) + self.transfer_s)
    }

    /// What one engine of each kind does within the limits.
    #[must_use]
    pub fn capacity(&self, slo: &Slo) -> Capacity {
        let limit = slo.tpot_s.min(slo.itl_p99_s);
        let alone = |batch: f64| self.step(batch, |step| step.alone_s);
        let batch = largest(self.most(), |batch| alone(batch) <= limit);
        let per_s = DECODE_SHARE * self.decoded(batch);
        // Where half the sequences decode as fast, more of them gain nothing: the steps are the limit.
        let held = largest(batch, |batch| self.decoded(batch) <= per_s);
        let is_full = batch >= self.most() && held >= batch / 2.0;
        let fixed = self.prefill_s + self.transfer_s + alone(batch);
        let busy = largest(PREFILL_SHARE, |busy| {
            fixed + wait(busy, self.prefill_s).1 <= slo.ttft_s
        });
        Capacity {
            prefill_per_s: busy / self.prefill_s,
            decode_per_s: per_s,
            decode_limit: match is_full {
                true => self.full,
                false => Limit::Decode,
            },
            link_per_s: (self.transfer_s > 0.0).then(|| 1.0 / self.transfer_s),
            prefill_gpus: self.prefill_gpus,
            decode_gpus: self.decode_gpus,
        }
    }

    /// So many engines of each kind, with the latencies at their largest load.
    #[must_use]
    pub fn split(&self, slo: &Slo, prefill: u32, decode: u32) -> (Plan, Figures) {
        let plan = self.capacity(slo).plan(prefill, decode);
        (plan, self.figures(&plan))
    }

    /// The numbers of engines that serve most on so many GPUs; `None` where there is no room for one of each.
    #[must_use]
    pub fn best(&self, slo: &Slo, gpus: u32) -> Option<(Plan, Figures)> {
        let plan = solve(&self.capacity(slo), gpus)?;
        Some((plan, self.figures(&plan)))
    }

    fn figures(&self, plan: &Plan) -> Figures {
        let each = plan.per_s / f64::from(plan.decode);
        let batch = largest(self.most(), |batch| self.decoded(batch) <= each);
        let step_s = self.step(batch, |step| step.alone_s);
        let prefill_busy = plan.per_s / f64::from(plan.prefill) * self.prefill_s;
        let (wait_s, wait_p99_s) = wait(prefill_busy, self.prefill_s);
        Figures {
            requests_per_s: plan.per_s,
            wait_s,
            wait_p99_s,
            prefill_s: self.prefill_s,
            transfer_s: self.transfer_s,
            first_step_s: step_s,
            tpot_s: step_s,
            itl_p99_s: step_s,
            batch,
            prefill_busy,
        }
    }

    /// So many aggregated engines with chunked prefill at their largest load.
    #[must_use]
    pub fn aggregated(&self, slo: &Slo, engines: u32) -> Figures {
        let engines = f64::from(engines);
        let at = |batch: f64| {
            let tpot_s = self.step(batch, |step| step.mixed_s);
            let step_s = self.step(batch, |step| step.alone_s);
            let per_s = DECODE_SHARE * batch / (self.beside_s + self.output_tokens * tpot_s);
            let service_s = self.beside_s + self.chunks * step_s;
            let busy = (per_s * service_s).min(1.0 - f64::EPSILON);
            let (wait_s, wait_p99_s) = wait(busy, service_s);
            // A chunk of another prompt lies between two tokens of a reply in this part of the gaps.
            let is_common = per_s * self.chunks * tpot_s > TAIL;
            let chunk_s = if is_common {
                service_s / self.chunks
            } else {
                0.0
            };
            Figures {
                requests_per_s: per_s * engines,
                wait_s,
                wait_p99_s,
                prefill_s: service_s,
                transfer_s: 0.0,
                first_step_s: 0.0,
                tpot_s,
                itl_p99_s: chunk_s.max(step_s),
                batch,
                prefill_busy: busy,
            }
        };
        let batch = largest(self.most(), |batch| {
            let figures = at(batch);
            figures.tpot_s <= slo.tpot_s
                && figures.itl_p99_s <= slo.itl_p99_s
                && figures.ttft_p99_s() <= slo.ttft_s
                && figures.prefill_busy <= PREFILL_SHARE
        });
        at(batch)
    }
}
