//! How each family's sizes are named, and whether the engine takes the head size from them.
//!
//! Read in vLLM 0.32 (`model_executor/models/`): `llama.py`, `mixtral.py`, `qwen3.py`, `qwen3_moe.py`, `gemma2.py`, `gemma3.py`,
//! `gpt_oss.py` take `head_dim` from the configuration; `qwen2.py` and `qwen2_moe.py` divide the hidden size by the heads, in
//! SGLang as well (`srt/models/qwen2.py`).

use super::error::HalfError;
use crate::{Engine, ModelFacts};

/// A family's row.
pub(super) struct FamilyRow {
    /// `model_type` of the language part or of the whole.
    pub(super) names: &'static [&'static str],
    /// How it can be run at smaller sizes.
    pub(super) way: Way,
    /// `model_type` of the language part alone.
    pub(super) text_type: &'static str,
    /// Its class in both engines.
    pub(super) class: &'static str,
    /// Key of the experts' width; that of a dense model's is always `intermediate_size`.
    pub(super) expert_width: &'static str,
}

/// How a family can be run at smaller sizes.
#[derive(Debug, Clone, Copy)]
pub(super) enum Way {
    /// Its own class takes `head_dim`.
    Own,
    /// Its own class does not; Llama's does the same work with a bias on queries, keys and values.
    AsLlama,
    /// Not at all, and why.
    No(&'static str),
}

const OWN: FamilyRow = FamilyRow {
    names: &[],
    way: Way::Own,
    text_type: "llama",
    class: "LlamaForCausalLM",
    expert_width: "moe_intermediate_size",
};

pub(super) const FAMILIES: &[FamilyRow] = &[
    FamilyRow {
        names: &["llama"],
        ..OWN
    },
    FamilyRow {
        names: &["mistral"],
        text_type: "mistral",
        class: "MistralForCausalLM",
        ..OWN
    },
    FamilyRow {
        names: &["mixtral"],
        text_type: "mixtral",
        class: "MixtralForCausalLM",
        expert_width: "intermediate_size",
        ..OWN
    },
    FamilyRow {
        names: &[
            "qwen2",
            "qwen2_vl",
            "qwen2_vl_text",
            "qwen2_5_vl",
            "qwen2_5_vl_text",
        ],
        way: Way::AsLlama,
        ..OWN
    },
    FamilyRow {
        names: &["qwen2_moe"],
        way: Way::No(
            "the engines' Qwen2 mixture of experts takes the size of a head from the hidden size, and no other class does its work",
        ),
        ..OWN
    },
    FamilyRow {
        names: &["qwen3", "qwen3_vl", "qwen3_vl_text"],
        text_type: "qwen3",
        class: "Qwen3ForCausalLM",
        ..OWN
    },
    FamilyRow {
        names: &["qwen3_moe", "qwen3_vl_moe", "qwen3_vl_moe_text"],
        text_type: "qwen3_moe",
        class: "Qwen3MoeForCausalLM",
        ..OWN
    },
    FamilyRow {
        names: &["gpt_oss"],
        text_type: "gpt_oss",
        class: "GptOssForCausalLM",
        expert_width: "intermediate_size",
        ..OWN
    },
    FamilyRow {
        names: &["gemma2"],
        text_type: "gemma2",
        class: "Gemma2ForCausalLM",
        ..OWN
    },
    FamilyRow {
        names: &["gemma3", "gemma3_text"],
        text_type: "gemma3_text",
        class: "Gemma3ForCausalLM",
        ..OWN
    },
    FamilyRow {
        names: &["deepseek_v2", "deepseek_v3", "kimi_k2", "kimi_k25"],
        way: Way::No(
            "multi-head latent attention keeps its latent whole on every rank, and the engines choose its kernels by the number of heads",
        ),
        ..OWN
    },
];

/// Whether the share of a model must be written as a configuration of its own, as no flag of the engine reaches its sizes: of a
/// language part whose keys stand in a part of the configuration.
///
/// # Errors
/// The share cannot be run as a model of its own at all.
pub fn must_be_written(model: &ModelFacts, engine: Engine) -> Result<bool, HalfError> {
    let row = row_of(model)?;
    let is_part = model.family.contains("_vl") || MULTIMODAL.contains(&model.family.as_str());
    let reaches = matches!(row.way, Way::Own) && engine == Engine::Vllm;
    Ok(is_part && !reaches)
}

/// Families with parts that are not language, beyond those whose name says so.
const MULTIMODAL: [&str; 1] = ["gemma3"];

/// The row of a model's family.
///
/// # Errors
/// There is none, or none of its ways leads to a share.
pub(super) fn row_of(model: &ModelFacts) -> Result<&'static FamilyRow, HalfError> {
    let refused = |reason: String| HalfError::NotCut {
        model: model.name.clone(),
        reason,
    };
    let row = row(&model.family).ok_or_else(|| {
        refused(format!(
            "whether an engine takes the sizes of {} from its configuration was not read",
            model.family
        ))
    })?;
    match row.way {
        Way::No(reason) => Err(refused(reason.to_owned())),
        Way::Own | Way::AsLlama => Ok(row),
    }
}

/// The row of a family.
fn row(family: &str) -> Option<&'static FamilyRow> {
    FAMILIES.iter().find(|row| row.names.contains(&family))
}
