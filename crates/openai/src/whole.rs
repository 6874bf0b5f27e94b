//! The full look at an object of a reply, by serde: for every shape, also those that no engine is known to send.
//!
//! Of values that may be anything only their shape is kept: a server may send millions of them in one object.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

use crate::chunk::{Carries, Seen, Usage, words};

/// An object up to these bytes is small enough for a tree of what its error holds; words of a larger one are its beginning.
const SMALL: usize = 64 << 10;

/// An object whose error is read as `E`.
#[derive(Deserialize)]
struct Object<E> {
    choices: Option<Choices>,
    usage: Option<Counts>,
    error: Option<E>,
    object: Option<String>,
    message: Option<E>,
    model: Option<Shape>,
}

/// What all choices together carry.
#[derive(Default)]
struct Choices {
    carries: Carries,
    token_ids: Option<u32>,
    finished: bool,
}

#[derive(Deserialize)]
struct Choice {
    text: Option<Shape>,
    delta: Option<Delta>,
    message: Option<Delta>,
    finish_reason: Option<Shape>,
    /// vLLM's, where `return_token_ids` was asked for.
    token_ids: Option<Shape>,
}

#[derive(Deserialize)]
struct Delta {
    role: Option<Shape>,
    content: Option<Shape>,
    /// vLLM's name for it.
    reasoning: Option<Shape>,
    /// SGLang's name for it, and older vLLM's.
    reasoning_content: Option<Shape>,
    tool_calls: Option<Shape>,
    function_call: Option<Shape>,
}

/// What is kept of a value other than null.
enum Shape {
    Text(String),
    /// So many items.
    List(usize),
    Other,
}

#[derive(Deserialize)]
struct Counts {
    prompt_tokens: Option<u32>,
    completion_tokens: Option<u32>,
    prompt_tokens_details: Option<PromptDetails>,
}

#[derive(Deserialize)]
struct PromptDetails {
    cached_tokens: Option<u32>,
}

/// Looks at one object with a full parse of it; [`look`](crate::look) says the same, sooner.
///
/// # Errors
/// It is not JSON, or not an object of the OpenAI kind.
pub fn look_fully(data: &[u8]) -> Result<Seen<'static>, serde_json::Error> {
    if data.len() <= SMALL {
        return look_with(data, |error: Option<&Value>| {
            words_of(error.unwrap_or(&Value::Null))
        });
    }
    look_with(data, |_: Option<&Shape>| {
        words(&String::from_utf8_lossy(&data[..SMALL]))
    })
}

fn look_with<'a, E: Deserialize<'a>>(
    data: &'a [u8],
    words_of: impl Fn(Option<&E>) -> String,
) -> Result<Seen<'static>, serde_json::Error> {
    let object: Object<E> = serde_json::from_slice(data)?;
    // Older vLLM sends `{"object": "error", "message": ..}`, newer `{"error": {..}}`.
    let error = match &object.error {
        Some(error) => Some(words_of(Some(error))),
        None if object.object.as_deref() == Some("error") => {
            Some(words_of(object.message.as_ref()))
        }
        None => None,
    };
    let choices = object.choices.unwrap_or_default();
    Ok(Seen {
        carries: choices.carries,
        token_ids: choices.token_ids,
        finished: choices.finished,
        usage: object.usage.map(|counts| Usage {
            prompt_tokens: counts.prompt_tokens,
            completion_tokens: counts.completion_tokens,
            cached_tokens: counts
                .prompt_tokens_details
                .and_then(|details| details.cached_tokens),
        }),
        error,
        model: match object.model {
            Some(Shape::Text(name)) => Some(Cow::Owned(name)),
            _ => None,
        },
    })
}

impl Choice {
    fn is_finished(&self) -> bool {
        self.finish_reason.as_ref().is_some_and(Shape::is_filled)
    }

    fn token_ids(&self) -> Option<u32> {
        match self.token_ids.as_ref()? {
            Shape::List(ids) => Some(u32::try_from(*ids).unwrap_or(u32::MAX)),
            _ => None,
        }
    }

    fn carries(&self) -> Carries {
        let (filled, empty) = match self.delta.as_ref().or(self.message.as_ref()) {
            Some(delta) => delta.filled_or_empty(),
            None => {
                let filled = self.text.as_ref().is_some_and(Shape::is_filled);
                (filled, self.text.is_some())
            }
        };
        Carries::of(filled, empty, self.is_finished(), self.token_ids())
    }
}

impl Delta {
    /// Whether something stands in it; whether something empty stands in it that is not the opening with the role.
    fn filled_or_empty(&self) -> (bool, bool) {
        let fields = [
            &self.content,
            &self.reasoning,
            &self.reasoning_content,
            &self.tool_calls,
            &self.function_call,
        ];
        let filled = fields.into_iter().flatten().any(Shape::is_filled);
        let texts = [&self.content, &self.reasoning, &self.reasoning_content];
        let empty = self.role.is_none() && texts.into_iter().any(Option::is_some);
        (filled, empty)
    }
}

impl Shape {
    fn is_filled(&self) -> bool {
        match self {
            Self::Text(text) => !text.is_empty(),
            Self::List(items) => *items > 0,
            Self::Other => true,
        }
    }
}

impl<'de> Deserialize<'de> for Choices {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct List;

        impl<'de> Visitor<'de> for List {
            type Value = Choices;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of choices")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Choices, A::Error> {
                let mut all = Choices::default();
                while let Some(choice) = list.next_element::<Choice>()? {
                    all.carries = all.carries.max(choice.carries());
                    all.finished |= choice.is_finished();
                    let ids = all.token_ids.into_iter().chain(choice.token_ids());
                    all.token_ids = ids.reduce(u32::saturating_add);
                }
                Ok(all)
            }
        }

        deserializer.deserialize_seq(List)
    }
}

impl<'de> Deserialize<'de> for Shape {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Anything;

        impl<'de> Visitor<'de> for Anything {
            type Value = Shape;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a value")
            }

            fn visit_bool<E>(self, _: bool) -> Result<Shape, E> {
                Ok(Shape::Other)
            }

            fn visit_i64<E>(self, _: i64) -> Result<Shape, E> {
                Ok(Shape::Other)
            }

            fn visit_u64<E>(self, _: u64) -> Result<Shape, E> {
                Ok(Shape::Other)
            }

            fn visit_f64<E>(self, _: f64) -> Result<Shape, E> {
                Ok(Shape::Other)
            }

            fn visit_str<E>(self, text: &str) -> Result<Shape, E> {
                Ok(Shape::Text(text.to_owned()))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Shape, A::Error> {
                let mut items = 0;
                while list.next_element::<IgnoredAny>()?.is_some() {
                    items += 1;
                }
                Ok(Shape::List(items))
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Shape, A::Error> {
                while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
                Ok(Shape::Other)
            }
        }

        deserializer.deserialize_any(Anything)
    }
}

/// The message of an error object, or all of it where it has none.
fn words_of(error: &Value) -> String {
    let message = error.get("message").unwrap_or(error);
    match message {
        Value::String(text) => words(text),
        other => words(&other.to_string()),
    }
}
