//! Reads a Hugging Face `config.json`: dense, grouped-query, mixture of experts, multimodal with a language part, quantised.
//!
//! Only keys that decide message sizes and bytes of weights are read. A model whose layers are not all plain attention and
//! feed-forward is refused with the key that says so, because counting it as one would give wrong numbers silently.

use serde_json::Value;

use super::facts::{Experts, ModelFacts};
use super::family::family;
use super::keys::{Keys, ModelError, not_a_config};
use super::quantization::{WeightFormat, storage};
use super::size::{Latent, Moe, Shape, size};

/// Keys of models whose layers differ in kind, and what they mean.
const REFUSED: &[(&str, &str)] = &[
    ("hybrid_override_pattern", "state-space layers"),
    ("layers_block_type", "state-space layers"),
    ("ssm_cfg", "state-space layers"),
    ("mamba_d_state", "state-space layers"),
    ("linear_num_value_heads", "linear attention"),
    ("linear_attn_config", "linear attention"),
    ("hybrid_layer_pattern", "layers with different attention"),
    ("global_head_dim", "layers with different heads"),
    ("num_global_key_value_heads", "layers with different heads"),
    ("block_configs", "layers of different shape"),
    ("compress_ratios", "compressed attention"),
    ("altup_num_inputs", "alternating updates"),
    ("cross_attention_layers", "cross attention"),
];

/// The most layers that are taken for a model.
const MOST_LAYERS: u32 = 4096;

impl ModelFacts {
    /// Reads a Hugging Face `config.json`; `origin` is named in errors and becomes the model's name.
    ///
    /// # Errors
    /// Not JSON, or a key that decides sizes is missing, zero or contradictory, or the model is of a kind that is not known.
    pub fn from_config_json(text: &str, origin: &str) -> Result<Self, ModelError> {
        Self::from_config(&parse(text, origin)?, origin)
    }

    /// Reads a parsed configuration.
    pub(super) fn from_config(value: &Value, origin: &str) -> Result<Self, ModelError> {
        let keys = Keys::of(value, origin)?;
        refuse(&keys)?;
        let mut assumed = Vec::new();
        let model_type = text_of(&keys, "model_type")?;
        let (shape, per_token) = shape(&keys, &model_type, &mut assumed)?;
        let plain = plain_format(&keys, &mut assumed)?;
        let storage = storage(&keys, plain)?;
        let activation_bytes = 2;
        let counted = size(&shape, &storage, activation_bytes)
            .ok_or_else(|| keys.error("its sizes multiply to more than 64 bits hold"))?;
        let kv_cache_bytes = storage.kv_cache_bytes.unwrap_or(activation_bytes);
        if keys.is_multimodal {
            assumed.push(
                "parameters and weights are those of the language part; the vision part is not counted"
                    .to_owned(),
            );
        }
        Ok(Self {
            name: origin.to_owned(),
            family: keys
                .top("model_type")
                .and_then(Value::as_str)
                .unwrap_or(&model_type)
                .to_owned(),
            hidden: shape.hidden,
            layers: shape.layers,
            heads: shape.heads,
            kv_heads: shape.kv_heads,
            head_dim: shape.head_dim,
            latent_kv: shape.latent.map(|latent| latent.kv_rank + latent.rope),
            intermediate: if shape.dense_layers() > 0 {
                shape.dense
            } else {
                shape.moe.map_or(0, |moe| moe.shared)
            },
            vocab: shape.vocab,
            tied_embeddings: shape.tied,
            experts: shape.moe.map(|moe| Experts {
                count: moe.count,
                per_token,
                intermediate: moe.width,
                layers: moe.layers,
                expert_bytes: counted.expert_bytes,
            }),
            weights: storage.format,
            activation_bytes,
            kv_cache_bytes,
            parameters: counted.parameters,
            weight_bytes: counted.weight_bytes,
            assumed,
            counted: (shape, storage),
        })
    }
}

/// JSON, or an error that names the file.
pub(super) fn parse(text: &str, origin: &str) -> Result<Value, ModelError> {
    serde_json::from_str(text).map_err(|error| not_a_config(origin, format!("not JSON: {error}")))
}

impl Shape {
    fn dense_layers(&self) -> u32 {
        self.layers - self.moe.map_or(0, |moe| moe.layers)
    }
}

fn refuse(keys: &Keys<'_>) -> Result<(), ModelError> {
    for (key, meaning) in REFUSED {
        if keys.get(key).is_some() {
            return Err(keys.error(format!("{key} says {meaning}, which is not known")));
        }
    }
    if keys.flag("is_encoder_decoder")? == Some(true) {
        return Err(keys.error("is_encoder_decoder is true; only decoders are known"));
    }
    Ok(())
}

fn text_of(keys: &Keys<'_>, key: &str) -> Result<String, ModelError> {
    keys.text(key)
        .map(str::to_owned)
        .ok_or_else(|| keys.error(format!("{key} is missing")))
}

/// The shape, and how many experts a token uses (0 in a dense model).
fn shape(
    keys: &Keys<'_>,
    model_type: &str,
    assumed: &mut Vec<String>,
) -> Result<(Shape, u32), ModelError> {
    let (family, known) = family(model_type);
    if !known {
        assumed.push(format!(
            "model_type {model_type} is not known: gated feed-forward layers, two norms a layer and no biases are assumed"
        ));
    }
    let defaults = family.sizes.map(|sizes| sizes.map(Some));
    let [heads, kv_heads, head_dim, vocab] = defaults.unwrap_or([None; 4]);
    let mut sized = |key: &str, default: Option<u32>| {
        if let Some(default) = default
            && keys.get(key).is_none()
        {
            assumed.push(format!(
                "{key} is absent: {default}, the default of {model_type}"
            ));
        }
        keys.size(key, default)
    };
    let vocab = sized("vocab_size", vocab)?;
    let heads = sized("num_attention_heads", heads)?;
    let kv_heads = sized("num_key_value_heads", kv_heads.or(Some(heads)))?;
    let layers = keys.size("num_hidden_layers", None)?;
    if layers > MOST_LAYERS {
        return Err(keys.error(format!(
            "num_hidden_layers is {layers}, more than {MOST_LAYERS}"
        )));
    }
    let hidden = keys.size("hidden_size", None)?;
    if !heads.is_multiple_of(kv_heads) {
        return Err(keys.error(format!(
            "num_attention_heads is {heads}, not a multiple of num_key_value_heads {kv_heads}"
        )));
    }
    let latent = latent(keys)?;
    let head_dim = match (&latent, keys.number("head_dim")?.or(head_dim)) {
        (Some(latent), _) => latent.nope + latent.rope,
        (None, Some(0)) => return Err(keys.error("head_dim is 0")),
        (None, Some(head_dim)) => head_dim,
        (None, None) if hidden.is_multiple_of(heads) => hidden / heads,
        (None, None) => {
            return Err(keys.error(format!(
                "head_dim is missing, and hidden_size {hidden} is not a multiple of num_attention_heads {heads}"
            )));
        }
    };
    let tied = match keys.top("tie_word_embeddings").and_then(Value::as_bool) {
        Some(tied) => tied,
        None => keys.flag("tie_word_embeddings")?.unwrap_or_else(|| {
            let origin = if known {
                "the default of"
            } else {
                "assumed for"
            };
            assumed.push(format!(
                "tie_word_embeddings is absent: {}, {origin} {model_type}",
                family.tied
            ));
            family.tied
        }),
    };
    for (key, meaning) in [
        (
            "num_nextn_predict_layers",
            "layers that predict further tokens",
        ),
        ("index_n_heads", "weights of the sparse attention's indexer"),
    ] {
        if keys.number(key)?.is_some_and(|number| number > 0) {
            assumed.push(format!("{meaning} ({key}) are not counted"));
        }
    }
    let (moe, per_token) = match experts(keys, model_type, layers)? {
        Some((moe, per_token)) => (Some(moe), per_token),
        None => (None, 0),
    };
    let dense_layers = layers - moe.map_or(0, |moe| moe.layers);
    let dense = if dense_layers == 0 {
        0
    } else {
        match keys.any(&["intermediate_size_mlp", "dense_intermediate_size"])? {
            Some(width) => width,
            None => keys.size("intermediate_size", None)?,
        }
    };
    let shape = Shape {
        family,
        hidden,
        layers,
        heads,
        kv_heads,
        head_dim,
        latent,
        vocab,
        tied,
        attention_bias: keys.flag("attention_bias")?.unwrap_or(false),
        mlp_bias: keys.flag("mlp_bias")?.unwrap_or(false),
        dense,
        moe,
    };
    Ok((shape, per_token))
}

fn latent(keys: &Keys<'_>) -> Result<Option<Latent>, ModelError> {
    let Some(kv_rank) = keys.any(&["kv_lora_rank"])? else {
        return Ok(None);
    };
    Ok(Some(Latent {
        q_rank: keys.any(&["q_lora_rank"])?,
        kv_rank,
        nope: keys.size("qk_nope_head_dim", None)?,
        rope: keys.size("qk_rope_head_dim", None)?,
        value: keys.size("v_head_dim", None)?,
    }))
}

fn experts(
    keys: &Keys<'_>,
    model_type: &str,
    layers: u32,
) -> Result<Option<(Moe, u32)>, ModelError> {
    let Some(count) = keys.any(&["num_experts", "num_local_experts", "n_routed_experts"])? else {
        return Ok(None);
    };
    let per_token = keys
        .any(&["num_experts_per_tok", "experts_per_token"])?
        .ok_or_else(|| keys.error("num_experts_per_tok is missing though there are experts"))?;
    if per_token > count {
        return Err(keys.error(format!(
            "num_experts_per_tok is {per_token}, more than the {count} experts"
        )));
    }
    let width = match keys.any(&["moe_intermediate_size"])? {
        Some(width) => width,
        None => keys.size("intermediate_size", None)?,
    };
    // Llama 4 has one shared expert as wide as a routed one and says so nowhere in its config.
    let implied = matches!(model_type, "llama4" | "llama4_text").then_some(width);
    let shared = match keys.any(&["shared_expert_intermediate_size"])? {
        Some(shared) => shared,
        None => match keys.any(&["n_shared_experts"])? {
            Some(number) => number.saturating_mul(width),
            None => implied.unwrap_or(0),
        },
    };
    let moe = Moe {
        layers: expert_layers(keys, layers)?,
        count,
        width,
        shared,
        router_bias: keys.text("topk_method") == Some("noaux_tc")
            || keys.flag("use_routing_bias")? == Some(true),
    };
    Ok((moe.layers > 0).then_some((moe, per_token)))
}

/// How many layers route: every `decoder_sparse_step`-th (or `interleave_moe_layer_step`-th) but `mlp_only_layers`, after
/// the first `first_k_dense_replace`, and of those every `moe_layer_freq`-th or the ones that its list marks.
fn expert_layers(keys: &Keys<'_>, layers: u32) -> Result<u32, ModelError> {
    let step = keys
        .any(&["decoder_sparse_step", "interleave_moe_layer_step"])?
        .unwrap_or(1);
    let first = keys.number("first_k_dense_replace")?.unwrap_or(0);
    let dense: Vec<u64> = list(keys, "mlp_only_layers");
    let marked = keys.get("moe_layer_freq").and_then(Value::as_array);
    let every = match marked {
        Some(_) => 1,
        None => keys.any(&["moe_layer_freq"])?.unwrap_or(1),
    };
    let routes = |layer: u32| {
        (layer + 1).is_multiple_of(step)
            && layer >= first
            && layer.is_multiple_of(every)
            && !dense.contains(&u64::from(layer))
            && marked.is_none_or(|marked| {
                let mark = usize::try_from(layer).ok().and_then(|at| marked.get(at));
                mark.and_then(Value::as_u64) != Some(0)
            })
    };
    let number = (0..layers).filter(|layer| routes(*layer)).count();
    u32::try_from(number).map_err(|_| keys.error("num_hidden_layers is too large"))
}

fn list(keys: &Keys<'_>, key: &str) -> Vec<u64> {
    let values = keys.get(key).and_then(Value::as_array);
    values
        .into_iter()
        .flatten()
        .filter_map(Value::as_u64)
        .collect()
}

/// The format of weights that are not quantised. Engines serve a 32-bit checkpoint at 16 bits.
fn plain_format(keys: &Keys<'_>, assumed: &mut Vec<String>) -> Result<WeightFormat, ModelError> {
    let dtype = ["torch_dtype", "dtype"]
        .iter()
        .find_map(|key| keys.top(key).or_else(|| keys.get(key)))
        .and_then(Value::as_str);
    match dtype {
        Some("bfloat16") => Ok(WeightFormat::Bf16),
        Some("float16") => Ok(WeightFormat::F16),
        Some("float32") => {
            assumed.push("torch_dtype is float32: taken at 16 bits, as vLLM and SGLang serve it; started with --dtype float32 every message has twice the bytes".to_owned());
            Ok(WeightFormat::Bf16)
        }
        None => {
            assumed.push("torch_dtype is absent: bfloat16".to_owned());
            Ok(WeightFormat::Bf16)
        }
        Some(other) => Err(keys.error(format!(
            "torch_dtype is {other}; bfloat16, float16 and float32 are known"
        ))),
    }
}
