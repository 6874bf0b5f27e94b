//! The duration of one engine step as the sum of its parts.
//!
//! Left out: the arithmetic of attention over long prompts, which grows with their square, and any overlap of collectives
//! with compute.

#[cfg(test)]
pub(crate) mod tests;

use record::{CollectiveKind, PlannedCollective};
use serde::Serialize;
use tp_plan::{EngineFacts, Execution, ModelFacts, plan};

use crate::{Curve, EngineError, Profile};

/// What goes through one step.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct StepLoad {
    /// Sequences in the step, decoding or in prefill; each counts once.
    pub sequences: u32,
    /// Tokens in the step: one for each decoding sequence, a chunk of its prompt for each other.
    pub tokens: u32,
    /// Tokens whose keys and values attention reads, over all sequences.
    pub context_tokens: u64,
}

/// The parts of a step before noise, microseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct StepParts {
    /// Matrix products.
    pub gemm_us: f64,
    /// Attention.
    pub attention_us: f64,
    /// Norms, rotary embedding, quantisation, residuals.
    pub elementwise_us: f64,
    /// Host time that the GPU does not hide.
    pub host_us: f64,
    /// All all-reduces.
    pub all_reduce_us: f64,
    /// All all-gathers.
    pub all_gather_us: f64,
}

impl StepParts {
    /// Their sum, microseconds.
    #[must_use]
    pub fn total_us(&self) -> f64 {
        self.gemm_us
            + self.attention_us
            + self.elementwise_us
            + self.host_us
            + self.all_reduce_us
            + self.all_gather_us
    }
}

/// Works out the parts of steps of one model on one engine.
#[derive(Debug)]
pub struct StepTime {
    model: ModelFacts,
    engine: EngineFacts,
    profile: Profile,
    curve: Curve,
    /// Parameters that one token is multiplied with.
    active_parameters: f64,
}

impl StepTime {
    /// Joins a model, an engine, a profile and the times of collectives.
    ///
    /// # Errors
    /// A figure of the profile is out of range.
    pub fn new(
        model: ModelFacts,
        engine: EngineFacts,
        profile: Profile,
        curve: Curve,
    ) -> Result<Self, EngineError> {
        profile.check().map_err(|reason| EngineError::Profile {
            origin: "profile".to_owned(),
            reason,
        })?;
        Ok(Self {
            active_parameters: active_parameters(&model),
            model,
            engine,
            profile,
            curve,
        })
    }

    /// The engine's facts.
    #[must_use]
    pub fn engine(&self) -> &EngineFacts {
        &self.engine
    }

    /// The profile.
    #[must_use]
    pub fn profile(&self) -> &Profile {
        &self.profile
    }

    /// The parts of a step.
    ///
    /// # Errors
    /// No time is known for a collective of its plan.
    #[expect(
        clippy::cast_precision_loss,
        reason = "bytes and tokens are far below 2^53"
    )]
    pub fn parts(&self, load: StepLoad) -> Result<StepParts, EngineError> {
        let profile = &self.profile;
        let ranks = f64::from(self.engine.tp);
        let layers = f64::from(self.model.layers);

        // GB/s are 1e3 bytes a microsecond, TFLOP/s are 1e6 FLOP a microsecond.
        let read_us = self.model.weight_bytes_read(load.tokens) / (profile.weight_gb_per_s * 1e3);
        let multiply_us = 2.0 * self.active_parameters * f64::from(load.tokens)
            / (profile.compute_tflop_per_s * 1e6);
        let gemm_speedup = profile.gemm_speedup_per_doubling.powf(ranks.log2());

        let kv_on_rank = self.model.kv_bytes_per_token_on_rank(self.engine.tp);
        let kv_bytes = load.context_tokens as f64 * kv_on_rank as f64;
        let kv_us = kv_bytes / (profile.kv_gb_per_s * 1e3);

        let launches_us = match self.engine.execution {
            Execution::Graph { .. } => 0.0,
            Execution::Eager => profile.eager_host_us_per_layer * layers,
        };
        let mut parts = StepParts {
            gemm_us: read_us.max(multiply_us) / gemm_speedup,
            attention_us: kv_us + profile.attention_floor_us_per_layer * layers,
            elementwise_us: profile.elementwise_us_per_layer * layers,
            host_us: profile.host_us + launches_us,
            ..StepParts::default()
        };
        // Every sequence of a step gets logits, those in prefill too (vLLM V1: `logits_indices` in
        // v1/worker/gpu_model_runner.py). The plan counts a row for each of the batch and one for the chunk, so all chunks of
        // the step are one, and the sequences but one are the batch.
        let planned = if load.tokens == load.sequences {
            plan(&self.model, &self.engine, load.sequences, None)
        } else {
            let batch = load.sequences.saturating_sub(1);
            let chunk = load.tokens - batch;
            plan(&self.model, &self.engine, batch, Some(chunk))
        };
        for collective in &planned.collectives {
            let us = f64::from(collective.count) * self.one_us(collective)?;
            match collective.kind {
                CollectiveKind::AllReduce => parts.all_reduce_us += us,
                CollectiveKind::AllGather => parts.all_gather_us += us,
                CollectiveKind::ReduceScatter
                | CollectiveKind::Broadcast
                | CollectiveKind::SendRecv => return Err(no_curve(&self.engine, collective)),
            }
        }
        Ok(parts)
    }

    /// Microseconds of one call: the planted figure, else the curve.
    fn one_us(&self, collective: &PlannedCollective) -> Result<f64, EngineError> {
        let planted = match collective.kind {
            CollectiveKind::AllReduce => self.profile.all_reduce_us,
            CollectiveKind::AllGather => self.profile.all_gather_us,
            CollectiveKind::ReduceScatter
            | CollectiveKind::Broadcast
            | CollectiveKind::SendRecv => None,
        };
        planted
            .or_else(|| {
                self.curve
                    .us(collective.kind, collective.path, collective.bytes_per_rank)
            })
            .ok_or_else(|| no_curve(&self.engine, collective))
    }
}

/// No time is known, or none that a step's parts have a place for: plans hold all-reduces and gathers only.
fn no_curve(engine: &EngineFacts, collective: &PlannedCollective) -> EngineError {
    EngineError::NoCurve {
        kind: collective.kind,
        path: collective.path,
        ranks: engine.tp,
    }
}

/// Parameters that one token is multiplied with: all but the input embedding and, in a mixture of experts, those experts
/// that the token does not use (three matrices each).
#[expect(clippy::cast_precision_loss, reason = "parameters are far below 2^53")]
fn active_parameters(model: &ModelFacts) -> f64 {
    let hidden = f64::from(model.hidden);
    let embedding = if model.tied_embeddings {
        // The one matrix is the output head too.
        0.0
    } else {
        f64::from(model.vocab) * hidden
    };
    let idle = model.experts.map_or(0.0, |experts| {
        let unused = f64::from(experts.count.saturating_sub(experts.per_token));
        unused * 3.0 * hidden * f64::from(experts.intermediate) * f64::from(experts.layers)
    });
    (model.parameters as f64 - embedding - idle).max(0.0)
}
