//! Reading keys of a `config.json`: from the language part first, with errors that name the key; and why a model is not known.

use std::path::PathBuf;

use serde_json::{Map, Value};
use thiserror::Error;

/// Where multimodal configurations keep the language part.
const TEXT_PARTS: [&str; 3] = ["text_config", "llm_config", "language_config"];

/// Sizes above this are not those of a model, and products of smaller ones fit into 64 bits where they must.
const LARGEST: u64 = 1 << 24;

/// Why a model is not known.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ModelError {
    /// Neither a shipped model nor a file.
    #[error(
        "{name} is neither a model that is shipped ({shipped}) nor a config.json; name one of them"
    )]
    Unknown {
        /// What was asked for.
        name: String,
        /// The names of shipped models.
        shipped: String,
    },
    /// The file cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: std::io::Error,
    },
    /// The file is no model configuration that this program understands.
    #[error("{origin}: {reason}")]
    NotAConfig {
        /// The file.
        origin: String,
        /// What is wrong, with the key.
        reason: String,
    },
    /// The model cannot be cut into that many parts.
    #[error(
        "{model} has {heads} attention heads, which {tp} ranks cannot share evenly; choose a tensor parallel size that divides {heads}"
    )]
    Indivisible {
        /// The model.
        model: String,
        /// Its query heads.
        heads: u32,
        /// The tensor parallel size that was asked for.
        tp: u32,
    },
}

/// The keys of one configuration.
pub(super) struct Keys<'a> {
    origin: &'a str,
    top: &'a Map<String, Value>,
    text: &'a Map<String, Value>,
    /// Whether the language part stands below another configuration, or beside a vision part.
    pub(super) is_multimodal: bool,
}

impl<'a> Keys<'a> {
    pub(super) fn of(value: &'a Value, origin: &'a str) -> Result<Self, ModelError> {
        let Value::Object(top) = value else {
            return Err(not_a_config(origin, "not a JSON object"));
        };
        let (text, is_multimodal) = text_part(top);
        Ok(Self {
            origin,
            top,
            text,
            is_multimodal,
        })
    }

    /// A key of the language part, else of the whole; null is absent.
    pub(super) fn get(&self, key: &str) -> Option<&'a Value> {
        self.text
            .get(key)
            .filter(|value| !value.is_null())
            .or_else(|| self.top(key))
    }

    /// A key of the whole configuration; null is absent.
    pub(super) fn top(&self, key: &str) -> Option<&'a Value> {
        self.top.get(key).filter(|value| !value.is_null())
    }

    pub(super) fn text(&self, key: &str) -> Option<&'a str> {
        self.get(key).and_then(Value::as_str)
    }

    pub(super) fn flag(&self, key: &str) -> Result<Option<bool>, ModelError> {
        match self.get(key) {
            None => Ok(None),
            Some(Value::Bool(flag)) => Ok(Some(*flag)),
            Some(other) => Err(self.error(format!("{key} is {other}, not true or false"))),
        }
    }

    /// A number that may be zero.
    pub(super) fn number(&self, key: &str) -> Result<Option<u32>, ModelError> {
        let Some(value) = self.get(key) else {
            return Ok(None);
        };
        let number = value.as_u64().filter(|number| *number <= LARGEST);
        match number.and_then(|number| u32::try_from(number).ok()) {
            Some(number) => Ok(Some(number)),
            None => Err(self.error(format!(
                "{key} is {value}, not a whole number up to {LARGEST}"
            ))),
        }
    }

    /// A number above zero under any of several names for the same thing; they must agree. Zero is absent.
    pub(super) fn any(&self, keys: &[&str]) -> Result<Option<u32>, ModelError> {
        let mut found: Option<(&str, u32)> = None;
        for key in keys {
            let Some(number) = self.number(key)?.filter(|number| *number > 0) else {
                continue;
            };
            match found {
                Some((first, other)) if other != number => {
                    return Err(self.error(format!(
                        "{first} is {other} but {key} is {number}; they mean the same"
                    )));
                }
                Some(_) => {}
                None => found = Some((key, number)),
            }
        }
        Ok(found.map(|(_, number)| number))
    }

    /// A number above zero that must be there, or fall back on a family's default.
    pub(super) fn size(&self, key: &str, default: Option<u32>) -> Result<u32, ModelError> {
        match self.number(key)?.or(default) {
            Some(0) => Err(self.error(format!("{key} is 0"))),
            Some(number) => Ok(number),
            None => Err(self.error(format!("{key} is missing"))),
        }
    }

    pub(super) fn error(&self, reason: impl Into<String>) -> ModelError {
        not_a_config(self.origin, reason)
    }
}

/// The language part of a configuration, and whether there is another beside it or around it.
pub(crate) fn text_part(config: &Map<String, Value>) -> (&Map<String, Value>, bool) {
    let part = TEXT_PARTS
        .iter()
        .find_map(|part| config.get(*part).and_then(Value::as_object));
    (
        part.unwrap_or(config),
        part.is_some() || config.contains_key("vision_config"),
    )
}

pub(super) fn not_a_config(origin: &str, reason: impl Into<String>) -> ModelError {
    ModelError::NotAConfig {
        origin: origin.to_owned(),
        reason: reason.into(),
    }
}
