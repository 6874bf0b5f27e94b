//! The facts of a rank's share.

use super::error::HalfError;
use crate::ModelFacts;
use crate::model::ShareSizes;
use crate::plan::VOCAB_MULTIPLE;

/// A rank's share of a model as a model of its own: its heads, its key-value heads, its part of every width and of the padded
/// vocabulary; hidden size, layers, experts, norms and routers are whole on every rank. One step of it reads what the rank reads.
///
/// # Errors
/// The sizes cannot be shared evenly, or the model cannot be counted from its facts, as with multi-head latent attention.
pub fn half(model: &ModelFacts, tp: u32) -> Result<ModelFacts, HalfError> {
    let sizes = sizes(model, tp)?;
    let mut share = model.at(sizes).ok_or_else(|| HalfError::NotCut {
        model: model.name.clone(),
        reason: if model.latent_kv.is_some() {
            "multi-head latent attention keeps its latent whole on every rank".to_owned()
        } else {
            "its parameters cannot be counted again from its facts".to_owned()
        },
    })?;
    share.name = format!("{}, 1/{tp}", model.name);
    Ok(share)
}

/// The sizes of a rank's share.
pub(super) fn sizes(model: &ModelFacts, tp: u32) -> Result<ShareSizes, HalfError> {
    if tp < 2 {
        return Err(HalfError::Whole { tp });
    }
    model.check_tp(tp)?;
    let even = |what: &'static str, size: u32| {
        if size.is_multiple_of(tp) {
            return Ok(size / tp);
        }
        Err(HalfError::Indivisible {
            model: model.name.clone(),
            what,
            size,
            tp,
        })
    };
    // Engines give every rank a whole key-value head where there are fewer than ranks, and then the ranks must share them evenly.
    let kv_heads = if model.kv_heads >= tp {
        even("num_key_value_heads", model.kv_heads)?
    } else if tp.is_multiple_of(model.kv_heads) {
        1
    } else {
        even("num_key_value_heads", model.kv_heads)?
    };
    even("intermediate_size", model.intermediate)?;
    if let Some(experts) = model.experts {
        even("the experts' width", experts.intermediate)?;
    }
    let vocab = even(
        "the padded vocabulary",
        model.vocab.next_multiple_of(VOCAB_MULTIPLE),
    )?;
    Ok(ShareSizes {
        heads: model.heads / tp,
        kv_heads,
        vocab,
        tp,
    })
}
