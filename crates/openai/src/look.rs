//! The look at one object of a reply: every shape, also those that no engine is known to send.
//!
//! Texts without escapes are borrowed, so that what engines send allocates nothing. Of values that may be anything only their shape
//! is kept: a server may send millions of them in one object.

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
struct Object<'a, E> {
    choices: Option<Choices>,
    usage: Option<Counts>,
    error: Option<E>,
    #[serde(borrow)]
    object: Option<Shape<'a>>,
    message: Option<E>,
    #[serde(borrow)]
    model: Option<Shape<'a>>,
}

/// What all choices together carry.
#[derive(Default)]
struct Choices {
    carries: Carries,
    token_ids: Option<u32>,
    finished: bool,
}

#[derive(Deserialize)]
struct Choice<'a> {
    #[serde(borrow)]
    text: Option<Shape<'a>>,
    #[serde(borrow)]
    delta: Option<Delta<'a>>,
    #[serde(borrow)]
    message: Option<Delta<'a>>,
    #[serde(borrow)]
    finish_reason: Option<Shape<'a>>,
    /// vLLM's, where `return_token_ids` was asked for.
    #[serde(borrow)]
    token_ids: Option<Shape<'a>>,
}

#[derive(Deserialize)]
struct Delta<'a> {
    #[serde(borrow)]
    role: Option<Shape<'a>>,
    #[serde(borrow)]
    content: Option<Shape<'a>>,
    /// vLLM's name for it.
    #[serde(borrow)]
    reasoning: Option<Shape<'a>>,
    /// SGLang's name for it, and older vLLM's.
    #[serde(borrow)]
    reasoning_content: Option<Shape<'a>>,
    #[serde(borrow)]
    tool_calls: Option<Shape<'a>>,
    #[serde(borrow)]
    function_call: Option<Shape<'a>>,
}

/// What is kept of a value other than null.
enum Shape<'a> {
    Text(Cow<'a, str>),
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

/// Looks at one object.
///
/// # Errors
/// It is not JSON, or not an object of the OpenAI kind.
pub fn look(data: &[u8]) -> Result<Seen<'_>, serde_json::Error> {
    if data.len() <= SMALL {
        return look_with(data, |error: Option<&Value>| {
            words_of(error.unwrap_or(&Value::Null))
        });
    }
    look_with(data, |_: Option<&Shape<'_>>| {
        words(&String::from_utf8_lossy(&data[..SMALL]))
    })
}

fn look_with<'a, E: Deserialize<'a>>(
    data: &'a [u8],
    words_of: impl Fn(Option<&E>) -> String,
) -> Result<Seen<'a>, serde_json::Error> {
    let object: Object<'a, E> = serde_json::from_slice(data)?;
    // Older vLLM sends `{"object": "error", "message": ..}`, newer `{"error": {..}}`.
    let error = match &object.error {
        Some(error) => Some(words_of(Some(error))),
        None if matches!(&object.object, Some(Shape::Text(kind)) if kind == "error") => {
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
            Some(Shape::Text(name)) => Some(name),
            _ => None,
        },
    })
}

impl Choice<'_> {
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

impl Delta<'_> {
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

impl Shape<'_> {
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
                while let Some(choice) = list.next_element::<Choice<'_>>()? {
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

impl<'de: 'a, 'a> Deserialize<'de> for Shape<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Anything;

        impl<'de> Visitor<'de> for Anything {
            type Value = Shape<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a value")
            }

            fn visit_bool<E>(self, _: bool) -> Result<Shape<'de>, E> {
                Ok(Shape::Other)
            }

            fn visit_i64<E>(self, _: i64) -> Result<Shape<'de>, E> {
                Ok(Shape::Other)
            }

            fn visit_u64<E>(self, _: u64) -> Result<Shape<'de>, E> {
                Ok(Shape::Other)
            }

            fn visit_f64<E>(self, _: f64) -> Result<Shape<'de>, E> {
                Ok(Shape::Other)
            }

            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Shape<'de>, E> {
                Ok(Shape::Text(Cow::Borrowed(text)))
            }

            fn visit_str<E>(self, text: &str) -> Result<Shape<'de>, E> {
                Ok(Shape::Text(Cow::Owned(text.to_owned())))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Shape<'de>, A::Error> {
                let mut items = 0;
                while list.next_element::<IgnoredAny>()?.is_some() {
                    items += 1;
                }
                Ok(Shape::List(items))
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Shape<'de>, A::Error> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Carries, Usage};

    #[track_caller]
    fn seen(data: &str) -> Seen<'_> {
        look(data.as_bytes()).unwrap()
    }

    fn chat(delta: &str) -> String {
        format!(r#"{{"choices":[{{"delta":{delta},"finish_reason":null}}]}}"#)
    }

    #[test]
    fn tokens_are_told_from_what_only_looks_like_one() {
        use Carries::{EmptyFinish, Nothing, Tokens};
        for (data, expected) in [
            (chat(r#"{"role":"assistant","content":""}"#), Nothing),
            (chat(r#"{"role":"assistant","content":null}"#), Nothing),
            (chat(r#"{"role":"assistant"}"#), Nothing),
            // A server that repeats the role with every token.
            (chat(r#"{"role":"assistant","content":"a"}"#), Tokens),
            (chat(r#"{"content":"a"}"#), Tokens),
            (chat(r#"{"content":"\n"}"#), Tokens),
            (chat(r#"{"content":""}"#), Tokens),
            (chat(r#"{"reasoning":"a"}"#), Tokens),
            (chat(r#"{"reasoning_content":"a","content":null}"#), Tokens),
            (chat(r#"{"tool_calls":[{"index":0}]}"#), Tokens),
            (chat(r#"{"function_call":{"name":"f"}}"#), Tokens),
            (chat(r#"{"tool_calls":[]}"#), Nothing),
            (chat("{}"), Nothing),
            (
                r#"{"choices":[{"text":"a","finish_reason":null}]}"#.to_owned(),
                Tokens,
            ),
            (
                r#"{"choices":[{"text":"","finish_reason":null}]}"#.to_owned(),
                Tokens,
            ),
            (
                r#"{"choices":[{"text":"a","finish_reason":"length"}]}"#.to_owned(),
                Tokens,
            ),
            (
                r#"{"choices":[{"text":"","finish_reason":"length"}]}"#.to_owned(),
                EmptyFinish,
            ),
            (
                r#"{"choices":[{"delta":{"content":""},"finish_reason":"stop"}]}"#.to_owned(),
                EmptyFinish,
            ),
            (
                r#"{"choices":[{"delta":{},"finish_reason":"stop"}]}"#.to_owned(),
                Nothing,
            ),
            (
                r#"{"choices":[],"usage":{"completion_tokens":3}}"#.to_owned(),
                Nothing,
            ),
        ] {
            assert_eq!(seen(&data).carries, expected, "{data}");
        }
    }

    #[test]
    fn of_several_choices_the_one_that_carries_most_counts() {
        let both = r#"{"choices":[{"index":0,"delta":{},"finish_reason":"stop","token_ids":[]},{"index":1,"delta":{"content":"a"},"token_ids":[5,6]}]}"#;
        let seen = seen(both);
        assert_eq!(
            (seen.carries, seen.finished, seen.token_ids),
            (Carries::Tokens, true, Some(2))
        );
    }

    #[test]
    fn token_ids_say_whether_an_empty_text_is_a_token() {
        let chunk = |ids: &str| {
            format!(r#"{{"choices":[{{"text":"","finish_reason":"length","token_ids":{ids}}}]}}"#)
        };
        for (ids, carries, count) in [
            ("[7]", Carries::Tokens, Some(1)),
            ("[7, 8,9]", Carries::Tokens, Some(3)),
            ("[]", Carries::Nothing, Some(0)),
            ("null", Carries::EmptyFinish, None),
        ] {
            let chunk = chunk(ids);
            let seen = seen(&chunk);
            assert_eq!((seen.carries, seen.token_ids), (carries, count), "{chunk}");
        }
    }

    #[test]
    fn a_count_inside_a_chunk_with_choices_is_seen() {
        let seen = seen(
            r#"{"choices":[{"text":"","finish_reason":"length"}],"usage":{"prompt_tokens":2,"completion_tokens":3,"prompt_tokens_details":{"cached_tokens":1}}}"#,
        );
        let usage = Usage {
            prompt_tokens: Some(2),
            completion_tokens: Some(3),
            cached_tokens: Some(1),
        };
        assert_eq!((seen.usage, seen.finished), (Some(usage), true));
    }

    #[test]
    fn errors_of_both_shapes_give_their_words() {
        for (data, expected) in [
            (
                r#"{"error":{"message":"engine\n dead","code":500}}"#,
                "engine dead",
            ),
            (r#"{"error":"out of memory"}"#, "out of memory"),
            (
                r#"{"object":"error","message":"no such model"}"#,
                "no such model",
            ),
            (r#"{"error":{"code":7}}"#, r#"{"code":7}"#),
        ] {
            assert_eq!(seen(data).error.as_deref(), Some(expected));
        }
        assert_eq!(seen(r#"{"error":null,"choices":[]}"#).error, None);
        assert!(look(b"<html>").is_err());
    }

    #[test]
    fn words_are_one_short_line_without_control_characters() {
        assert_eq!(words(" a\n\tb \u{1b}[1m"), "a b \u{fffd}[1m");
        // 240 characters, then three dots.
        assert_eq!(words(&"x".repeat(300)).len(), 243);
    }
}
