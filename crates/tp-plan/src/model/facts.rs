//! What is known of a model: the numbers that decide message sizes and how many bytes of weights a step reads.

use serde::{Deserialize, Serialize};

use super::keys::ModelError;
use super::quantization::{Storage, WeightFormat};
use super::size::{Shape, size};

/// Families whose layers all keep every token's keys and values.
const WHOLE_CACHE: [&str; 6] = [
    "llama",
    "qwen2",
    "qwen3",
    "qwen3_moe",
    "qwen2_5_vl",
    "qwen2_vl",
];

/// Families with layers that forget what is beyond a window: every so many layers one keeps all, the others so many tokens
/// (transformers' defaults of `layer_types` and `sliding_window`).
const WINDOWS: [(&str, u32, f64); 3] = [
    ("gpt_oss", 2, 128.0),
    ("gemma3", 6, 1024.0),
    ("gemma3_text", 6, 1024.0),
];

/// A model's shape. Sizes are in elements unless a name says bytes; of a multimodal model it is the language part.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelFacts {
    /// Its name, such as `qwen2.5-72b-fp8`.
    pub name: String,
    /// `model_type` of the config, such as `qwen2`.
    pub family: String,
    /// Hidden size.
    pub hidden: u32,
    /// Decoder layers.
    pub layers: u32,
    /// Query heads.
    pub heads: u32,
    /// Key-value heads.
    pub kv_heads: u32,
    /// Elements of one head.
    pub head_dim: u32,
    /// Elements that one token's latent has in a layer's cache, where attention is multi-head latent attention.
    pub latent_kv: Option<u32>,
    /// Width of the dense feed-forward network; of a shared or dense one in a mixture of experts, 0 where there is none.
    pub intermediate: u32,
    /// Vocabulary size.
    pub vocab: u32,
    /// Whether the output head shares the embedding's weights.
    pub tied_embeddings: bool,
    /// Mixture of experts, where it is one.
    pub experts: Option<Experts>,
    /// How the weights of the decoder layers are stored; in MXFP4 only those of the experts.
    pub weights: WeightFormat,
    /// Bytes of one activation element, 2 for bf16 and f16.
    pub activation_bytes: u32,
    /// Bytes of one key-value cache element; the engine's own option may say otherwise.
    pub kv_cache_bytes: u32,
    /// All parameters.
    pub parameters: u64,
    /// Bytes of all weights as stored.
    pub weight_bytes: u64,
    /// What was assumed where the config is silent, a sentence each.
    pub assumed: Vec<String>,
    /// What parameters and bytes were counted from.
    pub(super) counted: (Shape, Storage),
}

/// A mixture of experts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Experts {
    /// Routed experts in a layer.
    pub count: u32,
    /// Experts that each token uses.
    pub per_token: u32,
    /// Width of one expert.
    pub intermediate: u32,
    /// Layers with routed experts; the others are dense.
    pub layers: u32,
    /// Bytes of one expert of one layer as stored.
    pub expert_bytes: u64,
}

impl ModelFacts {
    /// Bytes of weights that one step reads over the whole model when `tokens` tokens go through it: all of a dense model but
    /// the embedding rows that are not looked up; of a mixture of experts those experts that are expected to be hit under
    /// uniform routing, which is `count * (1 - (1 - per_token / count)^tokens)` in a layer.
    #[must_use]
    #[expect(
        clippy::cast_precision_loss,
        reason = "a byte in 2^53 does not matter to an expectation"
    )]
    pub fn weight_bytes_read(&self, tokens: u32) -> f64 {
        let mut bytes = self.weight_bytes as f64;
        if !self.tied_embeddings {
            let rows = self.vocab.saturating_sub(tokens);
            bytes -= f64::from(rows) * f64::from(self.hidden) * f64::from(self.activation_bytes);
        }
        if let Some(experts) = self.experts {
            let missed = 1.0 - f64::from(experts.per_token) / f64::from(experts.count);
            let idle = f64::from(experts.count) * missed.powf(f64::from(tokens));
            bytes -= f64::from(experts.layers) * idle * experts.expert_bytes as f64;
        }
        bytes.max(0.0)
    }

    /// Weights that one token multiplies with: all but the embedding's rows and the experts that it does not use.
    #[must_use]
    #[expect(
        clippy::cast_precision_loss,
        reason = "weights are far below 2^53 bytes"
    )]
    pub fn active_parameters(&self) -> f64 {
        let mut active = self.parameters as f64;
        if !self.tied_embeddings {
            active -= f64::from(self.vocab) * f64::from(self.hidden);
        }
        if let Some(experts) = self.experts {
            let idle = f64::from(experts.count - experts.per_token) * f64::from(experts.layers);
            active -= 3.0 * idle * f64::from(self.hidden) * f64::from(experts.intermediate);
        }
        active
    }

    /// Tokens of the cache that a step reads of a sequence of so many, in the mean over layers: layers with a sliding window read no
    /// more than that.
    #[must_use]
    pub fn tokens_read(&self, context: f64) -> f64 {
        let mut rules = WINDOWS.iter();
        let Some((_, every, window)) = rules.find(|(family, ..)| *family == self.family) else {
            return context;
        };
        let whole = f64::from(self.layers / every) / f64::from(self.layers);
        whole * context + (1.0 - whole) * context.min(*window)
    }

    /// Bytes of key-value cache of one token over the whole model; what a sliding window drops is not taken off.
    #[must_use]
    pub fn kv_bytes_per_token(&self) -> u64 {
        self.kv_bytes(u64::from(self.kv_heads))
    }

    /// Whether all layers keep every token's keys and values, so that [`ModelFacts::kv_bytes_per_token`] is all that a token
    /// takes. Others (Gemma 3, gpt-oss) have layers that forget what is beyond a sliding window, and need less; of a family that
    /// is not known here the answer is no.
    #[must_use]
    pub fn keeps_every_token(&self) -> bool {
        WHOLE_CACHE.contains(&self.family.as_str())
    }

    /// Bytes of key-value cache of one token on one rank. With fewer key-value heads than ranks every rank keeps a whole
    /// head, so that the ranks together hold more than [`ModelFacts::kv_bytes_per_token`]; a latent is on every rank.
    #[must_use]
    pub fn kv_bytes_per_token_on_rank(&self, tp: u32) -> u64 {
        self.kv_bytes(u64::from(self.kv_heads.div_ceil(tp.max(1))))
    }

    fn kv_bytes(&self, heads: u64) -> u64 {
        let elements = match self.latent_kv {
            Some(latent) => u64::from(latent),
            None => 2 * heads * u64::from(self.head_dim),
        };
        u64::from(self.layers) * elements * u64::from(self.kv_cache_bytes)
    }

    /// Whether engines can cut the model into `tp` parts: they give every rank the same number of query heads.
    ///
    /// # Errors
    /// `tp` is 0 or does not divide the heads.
    pub fn check_tp(&self, tp: u32) -> Result<(), ModelError> {
        if tp > 0 && self.heads.is_multiple_of(tp) {
            return Ok(());
        }
        Err(ModelError::Indivisible {
            model: self.name.clone(),
            heads: self.heads,
            tp,
        })
    }
}

/// Sizes of a rank's share.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ShareSizes {
    pub(crate) heads: u32,
    pub(crate) kv_heads: u32,
    pub(crate) vocab: u32,
    /// What widths are divided by.
    pub(crate) tp: u32,
}

impl ModelFacts {
    /// A rank's share as a model of its own, counted again matrix by matrix; `None` of multi-head latent attention, whose latent is
    /// whole on every rank.
    pub(crate) fn at(&self, sizes: ShareSizes) -> Option<Self> {
        let (mut shape, storage) = self.counted;
        shape.heads = sizes.heads;
        shape.kv_heads = sizes.kv_heads;
        shape.vocab = sizes.vocab;
        shape.dense /= sizes.tp;
        if let Some(moe) = &mut shape.moe {
            moe.width /= sizes.tp;
            moe.shared /= sizes.tp;
        }
        let share = size(&shape, &storage, self.activation_bytes)?;
        self.latent_kv.is_none().then(|| Self {
            heads: sizes.heads,
            kv_heads: sizes.kv_heads,
            vocab: sizes.vocab,
            intermediate: self.intermediate / sizes.tp,
            experts: self.experts.map(|experts| Experts {
                intermediate: experts.intermediate / sizes.tp,
                expert_bytes: share.expert_bytes,
                ..experts
            }),
            parameters: share.parameters,
            weight_bytes: share.weight_bytes,
            counted: (shape, storage),
            ..self.clone()
        })
    }
}
