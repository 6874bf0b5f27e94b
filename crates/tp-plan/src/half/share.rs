//! The facts of a rank's share, whether an engine can be told to run it, and why there is none.

use thiserror::Error;

use crate::model::{Family, Share, ShareSizes, Way, family};
use crate::plan::VOCAB_MULTIPLE;
use crate::{Engine, ModelError, ModelFacts};

/// Families with parts that are not language, beyond those whose name says so.
const MULTIMODAL: [&str; 1] = ["gemma3"];

/// Why there is no half model.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum HalfError {
    /// The model is not known or cannot be cut.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// A size cannot be shared evenly.
    #[error(
        "{model}: {what} is {size}, which {tp} ranks cannot share evenly; choose another tensor parallel size"
    )]
    Indivisible {
        /// The model.
        model: String,
        /// Which size.
        what: &'static str,
        /// The size.
        size: u32,
        /// Ranks.
        tp: u32,
    },
    /// A share of one rank is the model itself.
    #[error("{tp} rank(s) make no share: choose a tensor parallel size of 2 or more")]
    Whole {
        /// Ranks.
        tp: u32,
    },
    /// Smaller sizes in the configuration would not give a rank's share.
    #[error(
        "{model}: {reason}; measure communication by arms that change only the link, or by a trace of some steps"
    )]
    NotCut {
        /// The model.
        model: String,
        /// Why.
        reason: String,
    },
}

/// A rank's share of a model as a model of its own: its heads, its key-value heads, its part of every width and of the padded
/// vocabulary; hidden size, layers, experts, norms and routers are whole on every rank. One step of it reads what the rank reads.
///
/// # Errors
/// The sizes cannot be shared evenly, or the model has multi-head latent attention.
pub fn half(model: &ModelFacts, tp: u32) -> Result<ModelFacts, HalfError> {
    let sizes = sizes(model, tp)?;
    let mut share = model.at(sizes).ok_or_else(|| HalfError::NotCut {
        model: model.name.clone(),
        reason: "multi-head latent attention keeps its latent whole on every rank".to_owned(),
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
    let kv_heads = match model.kv_heads < tp && tp.is_multiple_of(model.kv_heads) {
        true => 1,
        false => even("num_key_value_heads", model.kv_heads)?,
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

/// Whether the share of a model must be written as a configuration of its own, as no flag of the engine reaches its sizes: of a
/// language part whose keys stand in a part of the configuration.
///
/// # Errors
/// The share cannot be run as a model of its own at all.
pub fn must_be_written(model: &ModelFacts, engine: Engine) -> Result<bool, HalfError> {
    let share = share_of(model)?;
    let is_part = model.family.contains("_vl") || MULTIMODAL.contains(&model.family.as_str());
    Ok(is_part && !(share.way == Way::Own && engine == Engine::Vllm))
}

/// How the share of a model of this family is run.
///
/// # Errors
/// Nobody read that, or there is no way.
pub(super) fn share_of(model: &ModelFacts) -> Result<Share, HalfError> {
    let (Family { share, .. }, _) = family(&model.family);
    let reason = match share {
        Some(Share {
            way: Way::No(reason),
            ..
        }) => reason.to_owned(),
        Some(share) => return Ok(share),
        None => format!(
            "whether an engine takes the sizes of {} from its configuration was not read",
            model.family
        ),
    };
    Err(HalfError::NotCut {
        model: model.name.clone(),
        reason,
    })
}
