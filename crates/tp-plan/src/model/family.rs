//! What a configuration leaves to its model family: biases, norms, tied embeddings and default sizes; and how an engine is told to run
//! a rank's share of it.
//!
//! The defaults are those of the configuration classes of Hugging Face transformers; no version was checked. Families that are not here are
//! read as plain gated decoders, and the facts say so. Shares were read in vLLM 0.32 (`model_executor/models/`): `llama.py`, `mixtral.py`,
//! `qwen3.py`, `qwen3_moe.py`, `gemma2.py`, `gemma3.py`, `gpt_oss.py` take `head_dim` from the configuration; `qwen2.py` and `qwen2_moe.py`
//! divide the hidden size by the heads, in SGLang as well (`srt/models/qwen2.py`).

/// What a family adds to the plain gated decoder.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Family {
    names: &'static [&'static str],
    /// Default of `tie_word_embeddings`.
    pub(super) tied: bool,
    /// Query, key and value projections have a bias whatever the config says.
    pub(super) qkv_bias: bool,
    /// Queries and keys are normalised, with `head_dim` weights each.
    pub(super) qk_norm: bool,
    /// Norms of a layer that have `hidden` weights each.
    pub(super) norms: u32,
    /// Every query head has a sink, and router and experts have biases.
    pub(super) sinks_and_expert_biases: bool,
    /// The shared expert has a gate of `hidden` weights.
    pub(super) shared_gate: bool,
    /// Defaults of `num_attention_heads`, `num_key_value_heads`, `head_dim` and `vocab_size`, where released configs lack them.
    pub(super) sizes: Option<[u32; 4]>,
    /// How a rank's share is run; `None` where that was not read.
    pub(crate) share: Option<Share>,
}

/// How an engine is told to run a rank's share.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Share {
    pub(crate) way: Way,
    /// `model_type` of the language part alone.
    pub(crate) text_type: &'static str,
    /// Its class in both engines.
    pub(crate) class: &'static str,
    /// Key of the experts' width; that of a dense model's is always `intermediate_size`.
    pub(crate) expert_width: &'static str,
}

/// How a family can be run at smaller sizes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Way {
    /// Its own class takes `head_dim`.
    Own,
    /// Its own class does not; Llama's does the same work with a bias on queries, keys and values.
    AsLlama,
    /// Not at all, and why.
    No(&'static str),
}

/// A decoder with gated feed-forward, two norms a layer and untied embeddings: Llama's.
const PLAIN: Family = Family {
    names: &[],
    tied: false,
    qkv_bias: false,
    qk_norm: false,
    norms: 2,
    sinks_and_expert_biases: false,
    shared_gate: false,
    sizes: None,
    share: None,
};

const LLAMA: Share = own("llama", "LlamaForCausalLM");

const fn own(text_type: &'static str, class: &'static str) -> Share {
    Share {
        way: Way::Own,
        text_type,
        class,
        expert_width: "moe_intermediate_size",
    }
}

/// The share's experts have the key of a dense model's width.
const fn plain_experts(of: Share) -> Share {
    Share {
        expert_width: "intermediate_size",
        ..of
    }
}

const fn no(why: &'static str) -> Share {
    Share {
        way: Way::No(why),
        ..LLAMA
    }
}

const FAMILIES: &[Family] = &[
    Family {
        names: &["llama"],
        share: Some(LLAMA),
        ..PLAIN
    },
    Family {
        names: &["llama4", "llama4_text", "mistral3", "phi3"],
        ..PLAIN
    },
    Family {
        names: &["mistral"],
        share: Some(own("mistral", "MistralForCausalLM")),
        ..PLAIN
    },
    Family {
        names: &["mixtral"],
        share: Some(plain_experts(own("mixtral", "MixtralForCausalLM"))),
        ..PLAIN
    },
    Family {
        names: &["deepseek_v2", "deepseek_v3", "kimi_k2", "kimi_k25"],
        share: Some(no(
            "multi-head latent attention keeps its latent whole on every rank, and the engines choose its kernels by the number of heads",
        )),
        ..PLAIN
    },
    Family {
        names: &[
            "qwen2",
            "qwen2_vl",
            "qwen2_vl_text",
            "qwen2_5_vl",
            "qwen2_5_vl_text",
        ],
        qkv_bias: true,
        share: Some(Share {
            way: Way::AsLlama,
            ..LLAMA
        }),
        ..PLAIN
    },
    Family {
        names: &["qwen2_moe"],
        qkv_bias: true,
        shared_gate: true,
        share: Some(no(
            "the engines' Qwen2 mixture of experts takes the size of a head from the hidden size, and no other class does its work",
        )),
        ..PLAIN
    },
    Family {
        names: &["qwen3", "qwen3_vl", "qwen3_vl_text"],
        qk_norm: true,
        share: Some(own("qwen3", "Qwen3ForCausalLM")),
        ..PLAIN
    },
    Family {
        names: &["qwen3_moe", "qwen3_vl_moe", "qwen3_vl_moe_text"],
        qk_norm: true,
        share: Some(own("qwen3_moe", "Qwen3MoeForCausalLM")),
        ..PLAIN
    },
    Family {
        names: &["gpt_oss"],
        sinks_and_expert_biases: true,
        share: Some(plain_experts(own("gpt_oss", "GptOssForCausalLM"))),
        ..PLAIN
    },
    Family {
        names: &["gemma2"],
        tied: true,
        norms: 4,
        share: Some(own("gemma2", "Gemma2ForCausalLM")),
        ..PLAIN
    },
    Family {
        names: &["gemma3", "gemma3_text"],
        tied: true,
        qk_norm: true,
        norms: 4,
        sizes: Some([8, 4, 256, 262_208]),
        share: Some(own("gemma3_text", "Gemma3ForCausalLM")),
        ..PLAIN
    },
];

/// The family of that name, and whether it is one that is known.
pub(crate) fn family(name: &str) -> (Family, bool) {
    FAMILIES
        .iter()
        .find(|family| family.names.contains(&name))
        .map_or((PLAIN, false), |family| (*family, true))
}
