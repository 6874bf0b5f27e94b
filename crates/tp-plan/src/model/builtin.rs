//! The models that are shipped: reduced configurations under `models/`, with only the keys that are read and their source.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use super::config::parse;
use super::facts::ModelFacts;
use super::keys::{ModelError, not_a_config};
use super::quantization::join_separate;

/// A shipped model.
struct Shipped {
    name: &'static str,
    /// Other names for the same facts, first the Hugging Face id under which an engine gets the weights: of several of one shape those of
    /// the tuned model.
    aliases: &'static [&'static str],
    config: &'static str,
}

macro_rules! shipped {
    ($($name:literal: $($alias:literal),+;)+) => {
        &[$(Shipped {
            name: $name,
            aliases: &[$($alias),+],
            config: include_str!(concat!("../../models/", $name, ".json")),
        }),+]
    };
}

const SHIPPED: &[Shipped] = shipped![
    "qwen2.5-72b": "Qwen/Qwen2.5-72B-Instruct", "Qwen/Qwen2.5-72B", "Qwen2.5-72B-Instruct";
    "qwen2.5-72b-fp8": "RedHatAI/Qwen2.5-72B-Instruct-FP8-dynamic", "Qwen2.5-72B-Instruct-FP8";
    "qwen2.5-vl-72b": "Qwen/Qwen2.5-VL-72B-Instruct", "Qwen2.5-VL-72B-Instruct";
    "qwen2.5-vl-72b-fp8": "RedHatAI/Qwen2.5-VL-72B-Instruct-FP8-Dynamic", "Qwen2.5-VL-72B-Instruct-FP8";
    "gpt-oss-120b": "openai/gpt-oss-120b";
    "gpt-oss-20b": "openai/gpt-oss-20b";
    "llama-3.1-8b": "meta-llama/Llama-3.1-8B-Instruct", "meta-llama/Llama-3.1-8B", "meta-llama/Meta-Llama-3.1-8B-Instruct", "Llama-3.1-8B-Instruct";
    "llama-3.3-70b": "meta-llama/Llama-3.3-70B-Instruct", "Llama-3.3-70B-Instruct";
    "qwen3-14b": "Qwen/Qwen3-14B";
    "qwen3-30b-a3b": "Qwen/Qwen3-30B-A3B";
    "gemma-3-27b": "google/gemma-3-27b-it", "google/gemma-3-27b-pt", "gemma-3-27b-it";
    "r1-distill-qwen-32b": "deepseek-ai/DeepSeek-R1-Distill-Qwen-32B", "DeepSeek-R1-Distill-Qwen-32B";
];

/// Names of the shipped models, in the order of the documentation.
#[must_use]
pub fn builtin_names() -> Vec<&'static str> {
    SHIPPED.iter().map(|shipped| shipped.name).collect()
}

impl ModelFacts {
    /// A shipped model by its name or Hugging Face id, in any case.
    #[must_use]
    pub fn builtin(name: &str) -> Option<Self> {
        let shipped = shipped(name)?;
        let mut facts = Self::from_config_json(shipped.config, shipped.name).ok()?;
        shipped.name.clone_into(&mut facts.name);
        Some(facts)
    }

    /// A shipped model by name, a `config.json`, or a folder that holds one; a `hf_quant_config.json` beside it is read too.
    ///
    /// # Errors
    /// As [`ModelFacts::from_config_json`], or there is neither.
    pub fn resolve(name: &str) -> Result<Self, ModelError> {
        if let Some(facts) = Self::builtin(name) {
            return Ok(facts);
        }
        let file = located(name)?;
        let config = joined(&file)?;
        let mut facts = Self::from_config(&config, &file.display().to_string())?;
        if let Some(name) = name_of(&file) {
            facts.name = name;
        }
        Ok(facts)
    }
}

/// The configuration that [`ModelFacts::resolve`] reads, with its separate quantisation joined.
pub(crate) fn config_of(name: &str) -> Result<Map<String, Value>, ModelError> {
    let value = match shipped(name) {
        Some(shipped) => parse(shipped.config, shipped.name)?,
        None => joined(&located(name)?)?,
    };
    match value {
        Value::Object(config) => Ok(config),
        _ => Err(not_a_config(name, "not a JSON object")),
    }
}

/// The Hugging Face id of a shipped model by its own name, as engines know no short names; `None` for any other name.
#[must_use]
pub fn hub_id(name: &str) -> Option<&'static str> {
    let found = SHIPPED
        .iter()
        .find(|shipped| shipped.name.eq_ignore_ascii_case(name));
    found.and_then(|shipped| shipped.aliases.first().copied())
}

fn shipped(name: &str) -> Option<&'static Shipped> {
    let is_it = |other: &&str| other.eq_ignore_ascii_case(name);
    SHIPPED
        .iter()
        .find(|shipped| is_it(&shipped.name) || shipped.aliases.iter().any(is_it))
}

/// A `config.json`, or the one in a folder.
fn located(name: &str) -> Result<PathBuf, ModelError> {
    let given = Path::new(name);
    if given.is_dir() {
        return Ok(given.join("config.json"));
    }
    if given.exists() {
        return Ok(given.to_path_buf());
    }
    Err(ModelError::Unknown {
        name: name.to_owned(),
        shipped: builtin_names().join(", "),
    })
}

fn joined(file: &Path) -> Result<Value, ModelError> {
    let mut config = read(file)?;
    let separate = file.with_file_name("hf_quant_config.json");
    if separate.exists() {
        join_separate(&mut config, &read(&separate)?);
    }
    Ok(config)
}

fn read(file: &Path) -> Result<Value, ModelError> {
    let text = bounded::text(file, bounded::SETTINGS).map_err(|source| ModelError::Unreadable {
        path: file.to_path_buf(),
        source,
    })?;
    parse(&text, &file.display().to_string())
}

/// The folder of a `config.json`, or the stem of a file of another name.
fn name_of(file: &Path) -> Option<String> {
    let whole: PathBuf = file.canonicalize().ok()?;
    let named = if whole.file_name()? == "config.json" {
        whole.parent()?.file_name()?
    } else {
        whole.file_stem()?
    };
    Some(named.to_string_lossy().into_owned())
}
