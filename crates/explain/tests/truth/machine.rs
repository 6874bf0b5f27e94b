//! A random box, model and load with everything that a step is made of.

use engine::{Curve, EngineError, Profile, StepLoad, StepParts, StepTime};
use explain::{Peak, Priors};
use record::{CallMode, CollectiveKind, CollectivePath, PlannedCollective};
use tp_plan::{EngineFacts, ModelFacts, Surroundings, Vendor, builtin_names, plan};

use super::chance::Chance;
use super::judge::Assumption;

/// Names of GPUs as drivers give them: two that priors know, and one that nobody published anything of.
const GPUS: [&str; 3] = [
    "NVIDIA RTX PRO 6000 Blackwell Server Edition",
    "NVIDIA L40S",
    "a GPU of the known truth",
];

/// What is true of one case.
#[derive(Debug, Clone)]
pub(super) struct Truth {
    pub(super) model: ModelFacts,
    pub(super) gpu: &'static str,
    pub(super) around: Surroundings,
    pub(super) tp: u32,
    pub(super) load: Load,
    /// What the engine is given on one GPU; the noise is the runs' own.
    pub(super) profile: Profile,
    /// Host time of a step that several processes add, us.
    pub(super) executor_us: f64,
    /// Time of a step on several GPUs that has a cause which nobody knows of, us.
    pub(super) other_us: f64,
    /// The library's collectives as a bench times them.
    pub(super) library: Wire,
    /// The engine's own all-reduce over the library's; 1 where it has none.
    pub(super) custom: f64,
    /// Whether the bench times that one, too.
    pub(super) custom_is_timed: bool,
    /// Collectives in the engine over those of the bench; 0 where the engine has none.
    pub(super) in_situ: f64,
    /// How the bench calls.
    pub(super) mode: CallMode,
    /// Relative standard error of a time of the curve.
    pub(super) curve_error: f64,
    /// Relative standard deviation of a step.
    pub(super) step_cv: f64,
    /// Starts of the server at each size.
    pub(super) repeats: u32,
    pub(super) broken: Option<Assumption>,
}

/// A closed loop.
#[derive(Debug, Clone, Copy)]
pub(super) struct Load {
    pub(super) batch: u32,
    pub(super) requests: u32,
    pub(super) prompt_tokens: u32,
    pub(super) output_tokens: u32,
}

/// Time over size: the faster of a protocol with a short latency and one with a high bandwidth.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wire {
    short: (f64, f64),
    wide: (f64, f64),
    /// All-gather over an all-reduce of the same bytes.
    gather: f64,
}

impl Wire {
    /// Latencies of 4 to 40 us, bandwidths of 4 to 200 GB/s, a bend between protocols.
    pub(super) fn draw(chance: &mut Chance) -> Self {
        let (latency, gb_per_s) = (chance.log_within(4.0, 40.0), chance.log_within(4.0, 200.0));
        let later = chance.within(1.3, 3.0);
        Self {
            short: (latency, gb_per_s / chance.within(1.2, 3.0)),
            wide: (latency * later, gb_per_s),
            gather: chance.within(0.6, 1.1),
        }
    }

    #[expect(
        clippy::cast_precision_loss,
        reason = "messages are far below 2^53 bytes"
    )]
    pub(super) fn us(&self, kind: CollectiveKind, bytes: u64) -> f64 {
        // GB/s are 1e3 bytes a microsecond.
        let of = |(latency, rate): (f64, f64)| latency + bytes as f64 / (rate * 1e3);
        let us = of(self.short).min(of(self.wide));
        match kind {
            CollectiveKind::AllGather => us * self.gather,
            _ => us,
        }
    }
}

impl Truth {
    /// The truth of a seed; `None` where the model cannot be cut so.
    pub(super) fn draw(seed: u64, priors: &Priors, broken: Option<Assumption>) -> Option<Self> {
        let mut chance = Chance::new(seed);
        let model = model(&mut chance)?;
        let tp = chance.one_of(&[2, 2, 4, 8]);
        model.check_tp(tp).ok()?;
        let gpu = chance.one_of(&GPUS);
        let mut around = Surroundings::of_gpus(
            Vendor::Nvidia,
            &[gpu],
            None,
            false,
            Some(chance.happens(0.5)),
        );
        around.full_nvlink = around.peer_access == Some(true) && chance.happens(0.3);
        let batch = chance.one_of(&[1, 2, 4, 8, 16, 24, 32, 64]);
        let load = Load {
            batch,
            requests: (3 * batch).max(8),
            prompt_tokens: chance.one_of(&[32, 64, 128, 256]),
            output_tokens: chance.one_of(&[96, 128, 192]),
        };
        let mut off = Off {
            priors,
            gpu,
            weights: model.weights.name(),
            broken,
        };
        let mode = chance.one_of(&[CallMode::Graph, CallMode::Interleaved]);
        // Of a GPU whose memory is known what kernels reach of it.
        let gb_per_s = match Peak::of(gpu) {
            Some(peak) => peak.memory_gbps * chance.within(0.6, 0.92),
            None => chance.log_within(600.0, 6000.0),
        };
        let profile = Profile {
            weight_gb_per_s: gb_per_s,
            kv_gb_per_s: gb_per_s / off.draw(&mut chance, "kv_read_factor")?,
            // So much that reading weights is what a step takes, as at these batches on real boxes.
            compute_tflop_per_s: 0.4 * gb_per_s,
            gemm_speedup_per_doubling: 2.0,
            attention_floor_us_per_layer: off.draw(&mut chance, "attention_us_per_layer")?,
            elementwise_us_per_layer: off.draw(&mut chance, "elementwise_us_per_layer")?,
            host_us: 1e3 * off.draw(&mut chance, "host_ms")?,
            eager_host_us_per_layer: 0.0,
            all_reduce_us: None,
            all_gather_us: None,
            noise_cv: 0.0,
            noise_seed: 0,
        };
        let in_situ = match mode {
            CallMode::Interleaved => "in_situ_interleaved",
            _ => "in_situ",
        };
        let mut truth = Self {
            // A prior that is not there yet is no cost.
            executor_us: 1e3 * off.draw(&mut chance, "executor_ms").unwrap_or(0.0),
            library: Wire::draw(&mut chance),
            custom: off.draw(&mut chance, "custom_over_library")?,
            custom_is_timed: chance.happens(0.5),
            in_situ: off.draw(&mut chance, in_situ)?,
            curve_error: chance.log_within(0.003, 0.03),
            step_cv: chance.log_within(0.002, 0.02),
            repeats: chance.one_of(&[1, 2, 3]),
            model,
            gpu,
            around,
            tp,
            load,
            profile,
            mode,
            broken,
            other_us: 0.0,
        };
        truth.profile.gemm_speedup_per_doubling = truth.gain(&mut chance, &mut off)?;
        // Half of the truths have 1 to 20% of a step that nothing explains.
        let (has_other, part) = (chance.happens(0.5), chance.log_within(0.01, 0.2));
        if has_other {
            truth.other_us = part * truth.parts(tp).ok()?.total_us();
        }
        Some(truth)
    }

    /// What GEMMs gain with each doubling where each of a layer's four, or its two and its experts, has a part that stays.
    fn gain(&self, chance: &mut Chance, off: &mut Off<'_>) -> Option<f64> {
        let layers = f64::from(self.model.layers);
        let routed = f64::from(self.model.experts.map_or(0, |experts| experts.layers));
        let experts_us = match routed > 0.0 {
            true => off.draw(chance, "expert_start_us")?,
            false => 0.0,
        };
        let gemms = 4.0 * layers - 2.0 * routed + 1.0;
        let stay_us = gemms * off.draw(chance, "gemm_start_us")? + routed * experts_us;
        let ranks = f64::from(self.tp);
        let one_us = self.parts(1).ok()?.gemm_us;
        let stay_us = stay_us.min(one_us);
        let several_us = stay_us + (one_us - stay_us) / ranks;
        Some((one_us / several_us).powf(1.0 / ranks.log2()))
    }

    /// The engine's facts at a size.
    pub(super) fn facts(&self, tp: u32) -> EngineFacts {
        EngineFacts::vllm(tp, &self.around)
    }

    /// The collectives of a decode step.
    pub(super) fn planned(&self) -> Vec<PlannedCollective> {
        plan(&self.model, &self.facts(self.tp), self.load.batch, None).collectives
    }

    /// One collective as the bench times it, us.
    pub(super) fn benched_us(&self, kind: CollectiveKind, path: CollectivePath, bytes: u64) -> f64 {
        let own = match path {
            CollectivePath::Custom => self.custom,
            CollectivePath::Library => 1.0,
        };
        own * self.library.us(kind, bytes)
    }

    /// What the engine's steps are made of at a size.
    ///
    /// # Errors
    /// A figure is out of the engine's range.
    pub(super) fn step_time(&self, tp: u32) -> Result<StepTime, EngineError> {
        let truth = self.clone();
        let hidden = match self.broken {
            Some(Assumption::Overlap) => 0.15,
            _ => 0.0,
        };
        let curve = Curve::new(move |kind, path, bytes| {
            Some(truth.benched_us(kind, path, bytes) * truth.in_situ * (1.0 - hidden))
        });
        let of_several = if tp > 1 {
            self.executor_us + self.other_us
        } else {
            0.0
        };
        let profile = Profile {
            host_us: self.profile.host_us + of_several,
            ..self.profile.clone()
        };
        StepTime::new(self.model.clone(), self.facts(tp), profile, curve)
    }

    /// The parts of a decode step at a size, every slot half way through its output.
    ///
    /// # Errors
    /// As [`Truth::step_time`].
    pub(super) fn parts(&self, tp: u32) -> Result<StepParts, EngineError> {
        let Load {
            batch,
            prompt_tokens,
            output_tokens,
            ..
        } = self.load;
        self.step_time(tp)?.parts(StepLoad {
            sequences: batch,
            tokens: batch,
            context_tokens: u64::from(batch) * u64::from(prompt_tokens + output_tokens / 2),
        })
    }
}

/// A shipped model, or a decoder of random size.
fn model(chance: &mut Chance) -> Option<ModelFacts> {
    if chance.happens(0.5) {
        let names = builtin_names();
        return ModelFacts::builtin(chance.one_of(&names));
    }
    let kv_heads = chance.one_of(&[2, 4, 8, 8, 16]);
    let heads = kv_heads * chance.one_of(&[2, 4, 8]);
    let hidden = heads * 128;
    let config = serde_json::json!({
        "model_type": "llama",
        "hidden_size": hidden,
        "intermediate_size": hidden * chance.one_of(&[3, 4]),
        "num_hidden_layers": chance.one_of(&[24, 32, 48, 64, 80]),
        "num_attention_heads": heads,
        "num_key_value_heads": kv_heads,
        "head_dim": 128,
        "vocab_size": chance.one_of(&[32_000, 128_256, 152_064]),
        "tie_word_embeddings": chance.happens(0.3),
        "torch_dtype": "bfloat16",
    });
    ModelFacts::from_config_json(&config.to_string(), "a random decoder").ok()
}

/// Truths by the priors' ranges, or off them.
struct Off<'a> {
    priors: &'a Priors,
    gpu: &'a str,
    weights: &'a str,
    broken: Option<Assumption>,
}

impl Off<'_> {
    /// Uniform in the range whatever the prior's shape: the law is this program's own.
    fn draw(&mut self, chance: &mut Chance, name: &str) -> Option<f64> {
        let (low, high) = self.range(chance, name)?;
        // Neither is a time below zero.
        Some(chance.within(low, high).max(0.0))
    }

    /// A prior's range, moved by a third of its half-width where that is broken.
    fn range(&self, chance: &mut Chance, name: &str) -> Option<(f64, f64)> {
        let prior = self.priors.get(name, Some(self.gpu), self.weights, "")?;
        let third = (prior.high - prior.low) / 2.0 / 3.0;
        let by = match self.broken {
            Some(Assumption::PriorsShifted) => chance.one_of(&[-third, third]),
            _ => 0.0,
        };
        Some((prior.low + by, prior.high + by))
    }
}
