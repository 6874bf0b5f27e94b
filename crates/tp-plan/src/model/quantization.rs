//! `quantization_config`: how many bits a weight takes, and which weights stay at 16.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::keys::{Keys, ModelError};

/// How weights are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WeightFormat {
    /// 16 bits a weight.
    Bf16,
    /// 16 bits a weight.
    F16,
    /// 8 bits a weight; scales are not counted, they are 0.1 percent or less.
    Fp8,
    /// 8 bits a weight; scales are not counted.
    Int8,
    /// 4 bits a weight and an 8-bit scale for each 32: 4.25 bits.
    Mxfp4,
    /// 4 bits a weight and an 8-bit scale for each 16: 4.5 bits.
    Nvfp4,
    /// 4 bits a weight, and a 16-bit scale and a 4-bit zero point for each group: 4.16 bits at a group of 128 (AWQ, GPTQ).
    Int4,
}

impl WeightFormat {
    /// Its short name, such as `fp8`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Bf16 => "bf16",
            Self::F16 => "f16",
            Self::Fp8 => "fp8",
            Self::Int8 => "int8",
            Self::Mxfp4 => "mxfp4",
            Self::Nvfp4 => "nvfp4",
            Self::Int4 => "int4",
        }
    }
}

/// How the decoder's weights are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Storage {
    pub(super) format: WeightFormat,
    /// Bytes of one weight, scales and zero points included, as a fraction.
    pub(super) bytes: (u64, u64),
    /// Attention is stored like the rest; else it stays at 16 bits.
    pub(super) attention: bool,
    /// Dense feed-forward layers and shared experts are stored like the rest.
    pub(super) dense: bool,
    /// Bytes of a cache element, where the checkpoint says.
    pub(super) kv_cache_bytes: Option<u32>,
}

impl Storage {
    pub(super) fn plain(format: WeightFormat) -> Self {
        Self {
            format,
            bytes: (2, 1),
            attention: true,
            dense: true,
            kv_cache_bytes: None,
        }
    }
}

/// Reads `quantization_config` (or `compression_config`, its older name); `plain` is what holds without it.
pub(super) fn storage(keys: &Keys<'_>, plain: WeightFormat) -> Result<Storage, ModelError> {
    let Some((name, config)) = ["quantization_config", "compression_config"]
        .into_iter()
        .find_map(|key| keys.get(key).map(|value| (key, value)))
    else {
        return Ok(Storage::plain(plain));
    };
    let method = text(config, "quant_method").ok_or_else(|| {
        keys.error(format!(
            "{name}.quant_method is missing; without it the size of a weight is not known"
        ))
    })?;
    let (format, bytes) = match method {
        "fp8" | "fbgemm_fp8" => (WeightFormat::Fp8, (1, 1)),
        "mxfp4" => (WeightFormat::Mxfp4, (17, 32)),
        "awq" | "gptq" => integer(keys, name, config, "bits")?,
        "compressed-tensors" => compressed(keys, name, config)?,
        "modelopt" => modelopt(keys, name, config)?,
        other => {
            return Err(keys.error(format!(
                "{name}.quant_method is {other}, which is not known (known: fp8, fbgemm_fp8, mxfp4, awq, gptq, \
                 compressed-tensors, modelopt); take the config.json of the unquantised model for the messages"
            )));
        }
    };
    // vLLM's and transformers' MXFP4 holds the experts only; attention, router and head stay as they are.
    let all = format != WeightFormat::Mxfp4 || method != "mxfp4";
    Ok(Storage {
        format,
        bytes,
        attention: all && !leaves_out_attention(config),
        dense: all,
        kv_cache_bytes: cache(config),
    })
}

fn text<'a>(config: &'a Value, key: &str) -> Option<&'a str> {
    config.get(key).and_then(Value::as_str)
}

fn number(config: &Value, key: &str) -> Option<u64> {
    config.get(key).and_then(Value::as_u64)
}

/// Integers of 4 or 8 bits with a 16-bit scale and a zero point for each group.
fn integer(
    keys: &Keys<'_>,
    name: &str,
    config: &Value,
    bits: &str,
) -> Result<(WeightFormat, (u64, u64)), ModelError> {
    match number(config, bits) {
        Some(8) => Ok((WeightFormat::Int8, (1, 1))),
        Some(4) => {
            // A group of 0 or -1 is a whole channel, whose scale does not count.
            let group = number(config, "group_size").filter(|group| (1..=1 << 20).contains(group));
            // Half a byte a weight, and 2.5 bytes a group.
            let bytes = group.map_or((1, 2), |group| (group + 5, 2 * group));
            Ok((WeightFormat::Int4, bytes))
        }
        other => Err(keys.error(format!(
            "{name}.{bits} is {}; 4 and 8 are known",
            other.map_or_else(|| "missing".to_owned(), |bits| bits.to_string())
        ))),
    }
}

/// The first group's weights decide; a checkpoint that mixes formats is refused.
fn compressed(
    keys: &Keys<'_>,
    name: &str,
    config: &Value,
) -> Result<(WeightFormat, (u64, u64)), ModelError> {
    let mut formats = Vec::new();
    let groups = config.get("config_groups").and_then(Value::as_object);
    for (group, entry) in groups.into_iter().flatten() {
        let weights = entry.get("weights").unwrap_or(&Value::Null);
        let path = format!("{name}.config_groups.{group}.weights");
        let format = match (text(weights, "type"), number(weights, "num_bits")) {
            (Some("float"), Some(8)) => (WeightFormat::Fp8, (1, 1)),
            (Some("float"), Some(4)) if number(weights, "group_size") == Some(32) => {
                (WeightFormat::Mxfp4, (17, 32))
            }
            (Some("float"), Some(4)) => (WeightFormat::Nvfp4, (9, 16)),
            (Some("int") | None, _) => integer(keys, &path, weights, "num_bits")?,
            (Some(other), bits) => {
                return Err(keys.error(format!(
                    "{path} is {other} of {} bits, which is not known",
                    bits.map_or_else(|| "unknown".to_owned(), |bits| bits.to_string())
                )));
            }
        };
        formats.push(format);
    }
    formats.dedup();
    match formats.as_slice() {
        [format] => Ok(*format),
        [] => Err(keys.error(format!("{name}.config_groups is missing or empty"))),
        _ => Err(keys.error(format!(
            "{name}.config_groups mixes weight formats, which is not known; take the config.json of the unquantised model for the messages"
        ))),
    }
}

fn modelopt(
    keys: &Keys<'_>,
    name: &str,
    config: &Value,
) -> Result<(WeightFormat, (u64, u64)), ModelError> {
    match text(config, "quant_algo") {
        Some("FP8") => Ok((WeightFormat::Fp8, (1, 1))),
        Some("NVFP4") => Ok((WeightFormat::Nvfp4, (9, 16))),
        other => Err(keys.error(format!(
            "{name}.quant_algo is {}; FP8 and NVFP4 are known",
            other.unwrap_or("missing")
        ))),
    }
}

/// Whether attention is among the modules that stay at 16 bits.
fn leaves_out_attention(config: &Value) -> bool {
    [
        "ignore",
        "modules_to_not_convert",
        "ignored_layers",
        "exclude_modules",
    ]
    .iter()
    .filter_map(|key| config.get(*key).and_then(Value::as_array))
    .flatten()
    .filter_map(Value::as_str)
    // A module alone, such as `model.layers.0.self_attn.q_proj`, says nothing of the others.
    .any(|module| {
        module
            .trim_end_matches(['*', '.', '$'])
            .ends_with("self_attn")
    })
}

fn cache(config: &Value) -> Option<u32> {
    let bits = config
        .get("kv_cache_scheme")
        .and_then(|scheme| number(scheme, "num_bits"));
    let algorithm = text(config, "kv_cache_quant_algo");
    (bits == Some(8) || algorithm == Some("FP8")).then_some(1)
}

/// NVIDIA's quantised checkpoints of early 2025 say so only in a file beside `config.json`; puts it where later ones have it.
pub(super) fn join_separate(config: &mut Value, separate: &Value) {
    let Some(Value::Object(quantization)) = separate.get("quantization") else {
        return;
    };
    if let Value::Object(config) = config
        && !config.contains_key("quantization_config")
    {
        let mut joined = quantization.clone();
        joined.insert("quant_method".to_owned(), Value::from("modelopt"));
        config.insert("quantization_config".to_owned(), Value::Object(joined));
    }
}
