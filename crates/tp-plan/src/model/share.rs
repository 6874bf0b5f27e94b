//! A rank's share of a model as a model of its own: counted again, matrix by matrix, at the smaller sizes.
//!
//! Facts do not keep everything that was counted, such as biases and which weights stay at 16 bits. What they leave open is
//! tried until parameters and bytes come out as the facts say; where nothing fits there is no share.

use super::facts::{Experts, ModelFacts, WeightFormat};
use super::family::family;
use super::quantization::Storage;
use super::size::{Moe, Shape, Size, size};

/// Sizes of a share.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ShareSizes {
    pub(crate) heads: u32,
    pub(crate) kv_heads: u32,
    pub(crate) vocab: u32,
    /// What widths are divided by.
    pub(crate) tp: u32,
}

impl ModelFacts {
    /// The facts at these sizes; `None` where the model cannot be counted from its facts.
    pub(crate) fn at(&self, sizes: ShareSizes) -> Option<Self> {
        if self.latent_kv.is_some() {
            return None;
        }
        let wanted = Size {
            parameters: self.parameters,
            weight_bytes: self.weight_bytes,
            expert_bytes: self.experts.map_or(0, |experts| experts.expert_bytes),
        };
        let counted = |(shape, storage): &(Shape, Storage)| {
            size(shape, storage, self.activation_bytes) == Some(wanted)
        };
        let (mut shape, storage) = self.readings().find(counted)?;
        shape.heads = sizes.heads;
        shape.kv_heads = sizes.kv_heads;
        shape.vocab = sizes.vocab;
        shape.dense /= sizes.tp;
        if let Some(moe) = &mut shape.moe {
            moe.width /= sizes.tp;
            moe.shared /= sizes.tp;
        }
        let share = size(&shape, &storage, self.activation_bytes)?;
        Some(Self {
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
            ..self.clone()
        })
    }

    /// What the facts leave open, in every combination, the plain one first.
    fn readings(&self) -> impl Iterator<Item = (Shape, Storage)> + '_ {
        let dense_layers = self.layers
            - self
                .experts
                .map_or(0, |experts| experts.layers)
                .min(self.layers);
        let (dense, shared) = if dense_layers > 0 {
            (self.intermediate, 0)
        } else {
            (0, self.intermediate)
        };
        let flags = |bits: u32, bit: u32| bits & (1 << bit) != 0;
        let fractions = fractions(self.weights);
        (0..32_u32).flat_map(move |bits| {
            let shape = Shape {
                family: family(&self.family).0,
                hidden: self.hidden,
                layers: self.layers,
                heads: self.heads,
                kv_heads: self.kv_heads,
                head_dim: self.head_dim,
                latent: None,
                vocab: self.vocab,
                tied: self.tied_embeddings,
                attention_bias: flags(bits, 0),
                mlp_bias: flags(bits, 1),
                dense,
                moe: self.experts.map(|experts| Moe {
                    layers: experts.layers,
                    count: experts.count,
                    width: experts.intermediate,
                    shared,
                    router_bias: flags(bits, 2),
                }),
            };
            fractions.iter().map(move |bytes| {
                let storage = Storage {
                    format: self.weights,
                    bytes: *bytes,
                    attention: !flags(bits, 3),
                    dense: !flags(bits, 4),
                    kv_cache_bytes: None,
                };
                (shape, storage)
            })
        })
    }
}

/// Bytes of one weight, as [`super::quantization`] reads them; in 4-bit integers the size of a group is open.
fn fractions(format: WeightFormat) -> &'static [(u64, u64)] {
    match format {
        WeightFormat::Bf16 | WeightFormat::F16 => &[(2, 1)],
        WeightFormat::Fp8 | WeightFormat::Int8 => &[(1, 1)],
        WeightFormat::Mxfp4 => &[(17, 32)],
        WeightFormat::Nvfp4 => &[(9, 16)],
        WeightFormat::Int4 => &[(133, 256), (1, 2), (69, 128), (37, 64), (261, 512)],
    }
}
