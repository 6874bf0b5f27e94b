//! Reading keys of a `config.json`: from the language part first, with errors that name the key.

use serde_json::{Map, Value};

use super::error::ModelError;

/// Where multimodal configurations keep the language part.
const TEXT_PARTS: [&str; 3] = ["text_config", "llm_config", "language_config"];

/// Sizes above this are not those of a model, and products of smaller ones fit into 64 bits where they must.
const LARGEST: u64 = 1 << 24;

/// The keys of one configuration.
pub(super) struct Keys<'a> {
    origin: &'a str,
    top: &'a Map<String, Value>,
    text: &'a Map<String, Value>,
}

impl<'a> Keys<'a> {
    pub(super) fn of(value: &'a Value, origin: &'a str) -> Result<Self, ModelError> {
        let Value::Object(top) = value else {
            return Err(not_a_config(origin, "not a JSON object"));
        };
        let text = TEXT_PARTS
            .iter()
            .find_map(|part| top.get(*part).and_then(Value::as_object));
        Ok(Self {
            origin,
            top,
            text: text.unwrap_or(top),
        })
    }

    /// Whether the language part stands below another configuration, or beside a vision part.
    pub(super) fn is_multimodal(&self) -> bool {
        !std::ptr::eq(self.top, self.text) || self.top.contains_key("vision_config")
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
