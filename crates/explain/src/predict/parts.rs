//! One draw of one size: the parts of a step, and what a client sees of them: what a prompt takes on an empty server, and what those of
//! other sequences add to a token.

use record::CollectiveKind;
use tp_plan::{Costs, Rates, StepModel};

use crate::attribute::cost::Term;
use crate::attribute::deck::{Hand, Knob};
use crate::attribute::step::StepTime;
use crate::peaks::Peak;

/// How much later than the average the last of n ranks comes, in standard deviations of a normal distribution, for 2 to 8 ranks
/// (Harter, Biometrika 48, 1961). Of two it is 1 / sqrt(pi).
const LAST: [f64; 7] = [0.564, 0.846, 1.029, 1.163, 1.267, 1.352, 1.424];

/// How often the range of the step behind a measured time per token is halved: to less than a tenth of a percent of it.
const HALVINGS: u32 = 10;

/// What does not change from draw to draw.
pub(super) struct Size<'a> {
    pub(super) model: StepModel<'a>,
    pub(super) tp: u32,
    pub(super) input_tokens: f64,
    pub(super) output_tokens: f64,
    pub(super) peak: Option<Peak>,
    /// The measured step on one GPU.
    pub(super) one: Option<StepTime>,
    /// Whether that is a time per token, which holds as much of others' prefill as any TPOT.
    pub(super) one_is_mixed: bool,
    /// The time per token that the same result states; what a client saw on one GPU is not predicted.
    pub(super) tpot_of_one: Option<StepTime>,
    pub(super) terms: Vec<Term>,
    /// Collectives of one prompt.
    pub(super) prefill_terms: Vec<Term>,
    /// Whether waiting for the last rank is not in the curve's factor.
    pub(super) waits: bool,
    /// Whether the rate of prefill is known by `prefill_tflops`.
    pub(super) prefill_known: bool,
    /// Tokens of a prompt that one step takes.
    pub(super) chunk: f64,
}

/// The parts of one draw, ms.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Drawn {
    pub(super) gemm: f64,
    pub(super) attention: f64,
    pub(super) elementwise: f64,
    pub(super) host: f64,
    pub(super) executor: f64,
    pub(super) all_reduce: f64,
    pub(super) all_gather: f64,
    pub(super) skew: f64,
    /// What no other part holds; below zero where the others hold too much.
    pub(super) left_out: f64,
    pub(super) prefill: f64,
    pub(super) tpot: f64,
    /// TPOT on one GPU by the same hand.
    pub(super) tpot_of_one: f64,
}

impl Drawn {
    pub(super) fn step(&self) -> f64 {
        self.gemm
            + self.attention
            + self.elementwise
            + self.host
            + self.executor
            + self.left_out
            + (self.all_reduce + self.all_gather + self.skew)
    }
}

impl Size<'_> {
    pub(super) fn draw(&self, hand: &Hand) -> Drawn {
        let rates = self.rates(hand);
        let one = self.step(hand, &rates, 1);
        let one = self.served(hand, &rates, one, 1);
        if self.tp == 1 {
            let stated = self.tpot_of_one.as_ref();
            let tpot = stated.map_or(one.tpot, |stated| stated.seen(hand));
            return Drawn {
                tpot,
                tpot_of_one: tpot,
                ..one
            };
        }
        let drawn = self.step(hand, &rates, self.tp);
        Drawn {
            tpot_of_one: one.tpot,
            ..self.served(hand, &rates, drawn, self.tp)
        }
    }

    /// The same with what a client sees of it.
    fn served(&self, hand: &Hand, rates: &Rates, drawn: Drawn, ranks: u32) -> Drawn {
        let left_out = self.left_out(hand, ranks);
        Drawn {
            // No result tells what a prompt takes alone, so that it is as far from its parts as any predicted step.
            prefill: self.prefill(hand, rates, ranks) * hand.get(Knob::LeftOut),
            tpot: self.tpot(hand, rates, &drawn, ranks) * (1.0 + left_out),
            left_out: left_out * drawn.step(),
            ..drawn
        }
    }

    /// How far a step, and prompts in it, may lie from their parts, as a part of them. A measured step holds what is left out of it,
    /// and a rank of several a share of that.
    fn left_out(&self, hand: &Hand, ranks: u32) -> f64 {
        let unmeasured = match self.one {
            Some(_) => 1.0 - 1.0 / f64::from(ranks),
            None => 1.0,
        };
        (hand.get(Knob::LeftOut) - 1.0) * unmeasured
    }

    fn step(&self, hand: &Hand, rates: &Rates, ranks: u32) -> Drawn {
        let parts = self.model.parts(&self.costs(hand), rates, ranks);
        let mut drawn = Drawn {
            gemm: parts.gemm,
            attention: parts.attention,
            elementwise: parts.elementwise,
            host: parts.host,
            ..Drawn::default()
        };
        if ranks > 1 {
            drawn.executor = hand.get(Knob::Executor);
            let of = |kind: CollectiveKind| {
                let terms = self.terms.iter().filter(|term| term.cost.kind == kind);
                terms.map(|term| term.us(hand)).sum::<f64>() / 1e3
            };
            drawn.all_reduce = of(CollectiveKind::AllReduce);
            drawn.all_gather = of(CollectiveKind::AllGather);
            drawn.skew = self.skew(hand);
        }
        // A step is the later of GPU and host.
        drawn.host += (self.host_floor(hand) - drawn.step()).max(0.0);
        drawn
    }

    /// What the host takes for a step, whatever the GPU takes: it schedules, and handles each sequence's token. ms.
    pub(super) fn host_floor(&self, hand: &Hand) -> f64 {
        let each = f64::from(self.model.batch) * hand.get(Knob::HostPerSequence);
        hand.get(Knob::HostFloor) + each / 1e3
    }

    fn skew(&self, hand: &Hand) -> f64 {
        let last = LAST.get((self.tp as usize).saturating_sub(2));
        let last = last.or(LAST.last()).filter(|_| self.waits);
        let calls = self.terms.iter().map(|term| f64::from(term.cost.count));
        let calls: f64 = calls.sum();
        last.map_or(0.0, |last| last * hand.get(Knob::Jitter) * calls / 1e3)
    }

    /// The step, and what the prompts of the other sequences add to those between two tokens.
    fn tpot(&self, hand: &Hand, rates: &Rates, drawn: &Drawn, ranks: u32) -> f64 {
        drawn.step() + self.added(hand, rates, drawn, ranks)
    }

    /// What a step costs beside its bytes. Of GPUs whose peak is known attention was timed.
    pub(super) fn costs(&self, hand: &Hand) -> Costs {
        let start = match self.peak {
            Some(_) => Knob::AttentionStart,
            None => Knob::Attention,
        };
        // GB/s are 10^6 bytes in a ms.
        let each = |peak: &Peak| hand.get(Knob::CacheOverPeak) / (peak.memory_gbps * 1e6);
        Costs {
            attention_us: hand.get(start),
            elementwise_us: hand.get(Knob::Elementwise),
            host_ms: hand.get(Knob::Host),
            cache_factor: hand.get(Knob::KvRead),
            cache_ms_per_byte: self.peak.as_ref().map(each),
            gemm_starts_ms: hand.gemm_starts_ms(&self.model),
        }
    }

    /// Operations in a ms on one GPU, by its peak; `None` where that is not known.
    fn of_peak(&self, hand: &Hand) -> Option<f64> {
        let peak = self.peak.as_ref()?;
        // TFLOP/s are 10^9 in a ms.
        Some(peak.tflops(self.model.model.weights) * hand.get(Knob::MathRate) * 1e9)
    }

    /// Operations on so many GPUs, ms; nothing where no rate is known.
    pub(super) fn math(&self, hand: &Hand, flops: f64, ranks: u32) -> f64 {
        let rate = match self.prefill_known {
            true => Some(hand.get(Knob::PrefillRate) * 1e9),
            false => self.of_peak(hand),
        };
        rate.map_or(0.0, |rate| flops / (rate * f64::from(ranks)))
    }

    fn rates(&self, hand: &Hand) -> Rates {
        if let Some(one) = &self.one {
            let (costs, measured) = (self.costs(hand), one.draw(hand, 0.0));
            let of = |step: f64| self.model.invert(&costs, step, 1);
            if !self.one_is_mixed {
                return of(measured);
            }
            // The longer the step, the longer the time per token: halving finds the step behind it.
            let (mut low, mut high) = (measured / 4.0, measured);
            for _ in 0..HALVINGS {
                let step = f64::midpoint(low, high);
                let rates = of(step);
                let drawn = self.step(hand, &rates, 1);
                match self.tpot(hand, &rates, &drawn, 1) > measured {
                    true => high = step,
                    false => low = step,
                }
            }
            return of(f64::midpoint(low, high));
        }
        // Without a peak and a measured step nothing is drawn at all.
        let peak = self.peak.as_ref();
        let memory = peak.map_or(1.0, |peak| peak.memory_gbps * 1e6);
        let (dense, experts) = self.model.weights();
        let reading = dense / hand.get(Knob::MemoryRate) + experts / hand.get(Knob::ExpertRate);
        let flops = self.model.flops(f64::from(self.model.batch));
        let math = self.of_peak(hand).map_or(0.0, |rate| flops / rate);
        Rates {
            ranks: 1,
            gemm_ms: hand.gemm_starts_ms(&self.model) + (reading / memory).max(math),
            bytes_per_ms: memory * hand.get(Knob::MemoryRate),
        }
    }
}

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
        let several = self.prefill_terms.iter().filter(|_| ranks > 1);
        let communication: f64 = several.map(|term| term.us(hand)).sum();
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
        let executor = match ranks {
            1 => 0.0,
            _ => hand.get(Knob::Executor),
        };
        work.max(steps * self.launches(hand)) + steps * (hand.get(Knob::Host) + executor)
    }
}
