//! A half model as an engine is told it: keys that replace those of the configuration, or a configuration of its own.

use serde_json::{Map, Value, json};

use super::share::{HalfError, half, share_of, sizes};
use crate::model::{Share, Way, config_of, text_part};
use crate::plan::VOCAB_MULTIPLE;
use crate::{Engine, ModelFacts};

/// Keys of a configuration that name tokens, which the smaller vocabulary may not have.
const TOKENS: [&str; 3] = ["bos_token_id", "eos_token_id", "pad_token_id"];

/// Where a configuration does not say how long a prompt may be.
const POSITIONS: u32 = 32_768;

/// A rank's share of a model, to be run on one GPU.
#[derive(Debug, Clone, PartialEq)]
pub struct HalfModel {
    /// The model, as it was named.
    pub model: String,
    /// Ranks that the share is of.
    pub tp: u32,
    /// The engine that it is for.
    pub engine: Engine,
    /// The share's facts.
    pub facts: ModelFacts,
    /// Keys that replace those of the model's own configuration; `None` where only a configuration of its own can say it.
    pub overrides: Option<Map<String, Value>>,
    /// The language part's configuration at the share's sizes.
    pub config: Map<String, Value>,
    /// What to know before a number is believed, a sentence each.
    pub notes: Vec<String>,
    /// What to know of [`HalfModel::config`] alone, where it is written.
    pub config_notes: Vec<String>,
}

impl HalfModel {
    /// The half model of a shipped model, a `config.json` or a folder that holds one.
    ///
    /// # Errors
    /// The model is not known, or its share cannot be run as a model of its own.
    pub fn resolve(name: &str, tp: u32, engine: Engine) -> Result<Self, HalfError> {
        let model = ModelFacts::resolve(name)?;
        let config = config_of(name)?;
        let row = share_of(&model)?;
        let cut = sizes(&model, tp)?;
        let facts = half(&model, tp)?;
        let mut keys = Map::new();
        for (key, size) in [
            ("num_attention_heads", cut.heads),
            ("num_key_value_heads", cut.kv_heads),
            ("head_dim", model.head_dim),
            ("vocab_size", cut.vocab),
        ] {
            keys.insert(key.to_owned(), Value::from(size));
        }
        widths(&model, &facts, row, &mut keys);
        let (text, is_multimodal) = text_part(&config);
        let mut flat = keys.clone();
        if row.way == Way::AsLlama {
            // With `qkv_bias` vLLM's Llama puts a bias on queries, keys and values alone, as Qwen2 has it. SGLang's knows
            // `attention_bias`, which adds one of the hidden size to the output.
            let bias = engine == Engine::Vllm;
            flat.insert("attention_bias".to_owned(), Value::from(!bias));
            if bias {
                flat.insert("qkv_bias".to_owned(), Value::from(true));
            }
        }
        let mut written = text.clone();
        written.retain(|key, _| !key.starts_with('_') && !TOKENS.contains(&key.as_str()));
        for key in [
            "quantization_config",
            "torch_dtype",
            "dtype",
            "tie_word_embeddings",
        ] {
            if let Some(value) = config.get(key).filter(|value| !value.is_null()) {
                written.entry(key).or_insert_with(|| value.clone());
            }
        }
        written.extend(flat.clone());
        written.insert("model_type".to_owned(), json!(row.text_type));
        written.insert("architectures".to_owned(), json!([row.class]));
        let mut notes = notes(&model, tp, engine, row);
        let mut config_notes = Vec::new();
        if !written.contains_key("max_position_embeddings") {
            written.insert("max_position_embeddings".to_owned(), json!(POSITIONS));
            config_notes.push(format!(
                "the configuration at hand does not say how long a prompt may be: {POSITIONS} is written; other keys that it lacks get the engine's defaults, which change no size"
            ));
        }
        let overrides = match (row.way, is_multimodal, engine) {
            (Way::Own, false, _) => Some(flat),
            (Way::AsLlama, false, _) => {
                flat.insert("architectures".to_owned(), json!([row.class]));
                Some(flat)
            }
            // vLLM takes nested keys over one by one; the vision part stays as it is.
            (Way::Own, true, Engine::Vllm) => Some(Map::from_iter([(
                "text_config".to_owned(),
                Value::Object(keys),
            )])),
            (Way::AsLlama | Way::Own | Way::No(_), true, _) | (Way::No(_), false, _) => None,
        };
        if overrides.is_none() {
            notes.push(
                "the language part must be written as a model of its own: its keys stand in a part of the configuration that the engine does not let be replaced here"
                    .to_owned(),
            );
        }
        Ok(Self {
            model: model.name.clone(),
            tp,
            engine,
            facts,
            overrides,
            config: written,
            notes,
            config_notes,
        })
    }

    /// Token ids of prompts must be below this.
    #[must_use]
    pub fn vocab(&self) -> u32 {
        self.facts.vocab
    }

    /// The share's `config.json`.
    #[must_use]
    pub fn config_json(&self) -> String {
        format!("{:#}\n", Value::Object(self.config.clone()))
    }

    /// The name under which a share of that model is served, so that its results say what they are.
    #[must_use]
    pub fn name_of(model: &str, tp: u32) -> String {
        format!("{}-half-tp{tp}", last_part(model))
    }

    /// The server's command for the model itself with replaced keys; `None` where only a written configuration serves.
    #[must_use]
    pub fn command(&self, model: &str) -> Option<Vec<String>> {
        let overrides = Value::Object(self.overrides.clone()?).to_string();
        // Results then say what they are of.
        let served = Self::name_of(model, self.tp);
        let more = [
            self.flags().overrides,
            &overrides,
            "--served-model-name",
            &served,
        ];
        Some(self.words(model, &more))
    }

    /// The server's command for a folder that holds [`HalfModel::config_json`], with the tokenizer of the model itself where it
    /// is at hand, else without one.
    #[must_use]
    pub fn command_written(&self, folder: &str, tokenizer: Option<&str>) -> Vec<String> {
        match tokenizer {
            Some(tokenizer) => self.words(folder, &[self.flags().tokenizer, tokenizer]),
            None => self.words(folder, &["--skip-tokenizer-init"]),
        }
    }

    fn words(&self, model: &str, more: &[&str]) -> Vec<String> {
        let flags = self.flags();
        let begin = flags.begin.iter().copied();
        let tail = [flags.tp, "1", "--load-format", "dummy"];
        begin
            .chain([model])
            .chain(tail)
            .chain(more.iter().copied())
            .map(str::to_owned)
            .collect()
    }

    fn flags(&self) -> &'static Flags {
        match self.engine {
            Engine::Vllm | Engine::Trtllm => &VLLM,
            Engine::Sglang => &SGLANG,
        }
    }
}

/// The model's own name in an id or a path.
fn last_part(model: &str) -> &str {
    let model = model.trim_end_matches('/');
    model.rsplit('/').next().unwrap_or(model)
}

/// An engine's words.
struct Flags {
    begin: &'static [&'static str],
    tp: &'static str,
    overrides: &'static str,
    tokenizer: &'static str,
}

const VLLM: Flags = Flags {
    begin: &["vllm", "serve"],
    tp: "--tensor-parallel-size",
    overrides: "--hf-overrides",
    tokenizer: "--tokenizer",
};

const SGLANG: Flags = Flags {
    begin: &["python3", "-m", "sglang.launch_server", "--model-path"],
    tp: "--tp-size",
    overrides: "--json-model-override-args",
    tokenizer: "--tokenizer-path",
};

/// Widths of feed-forward layers and experts at the share's sizes.
fn widths(model: &ModelFacts, share: &ModelFacts, row: Share, keys: &mut Map<String, Value>) {
    let mut set = |key: &str, size: u32| keys.insert(key.to_owned(), Value::from(size));
    let routed = model.experts.map_or(0, |experts| experts.layers);
    if routed < model.layers {
        set("intermediate_size", share.intermediate);
    }
    if let Some(experts) = share.experts {
        set(row.expert_width, experts.intermediate);
    }
}

fn notes(model: &ModelFacts, tp: u32, engine: Engine, row: Share) -> Vec<String> {
    let vocab = model.vocab.next_multiple_of(VOCAB_MULTIPLE) / tp;
    let mut notes = vec![
        format!("prompts must be token ids below {vocab}: tplens serve run --dataset-name random-ids --vocab {vocab}"),
        "give it the flags of the servers that it is compared with: --max-model-len, --max-num-seqs, graphs, the cache's type; and keep the clocks"
            .to_owned(),
    ];
    if model.kv_heads < tp {
        notes.push(format!(
            "{} key-value heads on {tp} ranks: every rank keeps one whole head, and so does the half model",
            model.kv_heads
        ));
    }
    if let Some(experts) = model.experts {
        notes.push(format!(
            "all {} experts at 1/{tp} of their width, as tensor parallelism cuts them; with expert parallelism a rank holds whole experts, which this is not. Weights of a dummy load route otherwise than the model's: compare with a TP{tp} server of a dummy load",
            experts.count
        ));
    }
    if row.way == Way::AsLlama {
        notes.push(format!(
            "{}'s own class takes the size of a head from the hidden size: Llama's class does the same work{}",
            model.family,
            match engine {
                Engine::Vllm | Engine::Trtllm => "",
                Engine::Sglang => ", with one bias more on attention's output",
            }
        ));
    }
    notes
}
