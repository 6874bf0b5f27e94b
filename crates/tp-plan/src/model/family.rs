//! What a configuration leaves to its model family: biases, norms, tied embeddings and default sizes.
//!
//! The defaults are those of the configuration classes of Hugging Face transformers; no version was checked. Families that are not here are
//! read as plain gated decoders, and the facts say so.

/// What a family adds to the plain gated decoder.
#[derive(Debug, Clone, Copy)]
pub(super) struct Family {
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
};

const FAMILIES: &[Family] = &[
    Family {
        names: &[
            "llama",
            "llama4",
            "llama4_text",
            "mistral",
            "mistral3",
            "mixtral",
            "deepseek_v2",
            "deepseek_v3",
            "kimi_k2",
            "kimi_k25",
            "phi3",
        ],
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
        ..PLAIN
    },
    Family {
        names: &["qwen2_moe"],
        qkv_bias: true,
        shared_gate: true,
        ..PLAIN
    },
    Family {
        names: &[
            "qwen3",
            "qwen3_moe",
            "qwen3_vl",
            "qwen3_vl_text",
            "qwen3_vl_moe",
            "qwen3_vl_moe_text",
        ],
        qk_norm: true,
        ..PLAIN
    },
    Family {
        names: &["gpt_oss"],
        sinks_and_expert_biases: true,
        ..PLAIN
    },
    Family {
        names: &["gemma2"],
        tied: true,
        norms: 4,
        ..PLAIN
    },
    Family {
        names: &["gemma3", "gemma3_text"],
        tied: true,
        qk_norm: true,
        norms: 4,
        sizes: Some([8, 4, 256, 262_208]),
        ..PLAIN
    },
];

/// The family of that name, and whether it is one that is known.
pub(super) fn family(name: &str) -> (Family, bool) {
    FAMILIES
        .iter()
        .find(|family| family.names.contains(&name))
        .map_or((PLAIN, false), |family| (*family, true))
}
