//! Parameters and bytes of a decoder, counted matrix by matrix.

use super::family::Family;
use super::quantization::Storage;

/// Everything that decides how many weights there are.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Shape {
    pub(super) family: Family,
    pub(super) hidden: u32,
    pub(super) layers: u32,
    pub(super) heads: u32,
    pub(super) kv_heads: u32,
    pub(super) head_dim: u32,
    pub(super) latent: Option<Latent>,
    pub(super) vocab: u32,
    pub(super) tied: bool,
    pub(super) attention_bias: bool,
    pub(super) mlp_bias: bool,
    /// Width of the dense feed-forward network of the layers without routed experts.
    pub(super) dense: u32,
    pub(super) moe: Option<Moe>,
}

/// Multi-head latent attention, as DeepSeek-V2 has it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Latent {
    pub(super) q_rank: Option<u32>,
    pub(super) kv_rank: u32,
    pub(super) nope: u32,
    pub(super) rope: u32,
    pub(super) value: u32,
}

/// Layers with routed experts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Moe {
    pub(super) layers: u32,
    pub(super) count: u32,
    pub(super) width: u32,
    /// Width of the expert that every token uses, 0 where there is none.
    pub(super) shared: u32,
    /// The router adds a correction to each expert's score.
    pub(super) router_bias: bool,
}

/// Weights of one part of a model.
#[derive(Debug, Clone, Copy, Default)]
struct Part {
    /// Weights of linear layers, which quantisation may shrink.
    linear: u128,
    /// All others: norms, biases, embeddings, routers.
    other: u128,
}

/// What was counted; `None` where it is more than 64 bits hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Size {
    pub(super) parameters: u64,
    pub(super) weight_bytes: u64,
    /// Bytes of one routed expert of one layer, 0 where there is none.
    pub(super) expert_bytes: u64,
}

/// Counts parameters and their bytes; `other_bytes` is the size of a weight that is not quantised.
pub(super) fn size(shape: &Shape, storage: &Storage, other_bytes: u32) -> Option<Size> {
    let whole = |linear: u128, quantised: bool| {
        let (numerator, denominator) = storage.bytes;
        if quantised {
            (linear * u128::from(numerator)).div_ceil(u128::from(denominator))
        } else {
            linear * u128::from(other_bytes)
        }
    };
    let bytes = |part: Part, quantised| {
        whole(part.linear, quantised) + part.other * u128::from(other_bytes)
    };
    let layers = u128::from(shape.layers);
    let moe_layers = shape.moe.map_or(0, |moe| u128::from(moe.layers));
    let attention = attention(shape);
    let dense = feed_forward(shape, shape.dense);
    let (expert, shared, router, count) = shape.moe.map_or_else(Default::default, |moe| {
        (
            expert(shape, &moe),
            shared(shape, &moe),
            router(shape, &moe),
            u128::from(moe.count),
        )
    });
    let embedding = Part {
        linear: 0,
        other: embedding(shape),
    };
    let parts = [
        (embedding, 1, false),
        (attention, layers, storage.attention),
        (dense, layers - moe_layers, storage.dense),
        (shared, moe_layers, storage.dense),
        (router, moe_layers, false),
        (expert, moe_layers * count, true),
    ];
    let mut parameters: u128 = 0;
    let mut weight_bytes: u128 = 0;
    for (part, times, quantised) in parts {
        parameters += (part.linear + part.other) * times;
        weight_bytes += bytes(part, quantised) * times;
    }
    Some(Size {
        parameters: u64::try_from(parameters).ok()?,
        weight_bytes: u64::try_from(weight_bytes).ok()?,
        expert_bytes: u64::try_from(bytes(expert, true)).ok()?,
    })
}

/// Embedding, output head and the last norm.
fn embedding(shape: &Shape) -> u128 {
    let table = u128::from(shape.vocab) * u128::from(shape.hidden);
    table * if shape.tied { 1 } else { 2 } + u128::from(shape.hidden)
}

/// Attention and the norms of one layer.
fn attention(shape: &Shape) -> Part {
    let hidden = u128::from(shape.hidden);
    let heads = u128::from(shape.heads);
    let norms = u128::from(shape.family.norms) * hidden;
    if let Some(latent) = shape.latent {
        let [nope, rope, value, kv_rank] =
            [latent.nope, latent.rope, latent.value, latent.kv_rank].map(u128::from);
        let queries = heads * (nope + rope);
        let q_rank = latent.q_rank.map(u128::from);
        let q = q_rank.map_or(hidden * queries, |rank| rank * (hidden + queries));
        let kv = hidden * (kv_rank + rope) + kv_rank * heads * (nope + value);
        return Part {
            linear: q + kv + heads * value * hidden,
            other: norms + kv_rank + q_rank.unwrap_or(0),
        };
    }
    let head_dim = u128::from(shape.head_dim);
    let queries = heads * head_dim;
    let both = 2 * u128::from(shape.kv_heads) * head_dim;
    let mut other = norms;
    if shape.attention_bias || shape.family.qkv_bias {
        other += queries + both;
    }
    if shape.attention_bias {
        other += hidden;
    }
    if shape.family.qk_norm {
        other += 2 * head_dim;
    }
    if shape.family.sinks_and_expert_biases {
        other += heads;
    }
    Part {
        linear: hidden * queries + hidden * both + queries * hidden,
        other,
    }
}

/// Gate, up and down projection of that width.
fn feed_forward(shape: &Shape, width: u32) -> Part {
    let (hidden, width) = (u128::from(shape.hidden), u128::from(width));
    let bias = if shape.mlp_bias && width > 0 {
        2 * width + hidden
    } else {
        0
    };
    Part {
        linear: 3 * hidden * width,
        other: bias,
    }
}

fn expert(shape: &Shape, moe: &Moe) -> Part {
    let mut part = feed_forward(shape, moe.width);
    if shape.family.sinks_and_expert_biases {
        part.other = 2 * u128::from(moe.width) + u128::from(shape.hidden);
    }
    part
}

fn shared(shape: &Shape, moe: &Moe) -> Part {
    let mut part = feed_forward(shape, moe.shared);
    if moe.shared > 0 && shape.family.shared_gate {
        part.other += u128::from(shape.hidden);
    }
    part
}

fn router(shape: &Shape, moe: &Moe) -> Part {
    let count = u128::from(moe.count);
    let bias = moe.router_bias || shape.family.sinks_and_expert_biases;
    Part {
        linear: 0,
        other: count * u128::from(shape.hidden) + if bias { count } else { 0 },
    }
}
