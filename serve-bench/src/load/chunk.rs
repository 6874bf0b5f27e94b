//! What one JSON object of a reply carries: a token, the end, the server's count, an error.
//!
//! The rules are those that serving engines make necessary; each names the engine. They look at one object at a time and
//! know nothing of times.

use serde::Deserialize;
use serde_json::Value;

/// Characters of a server's words that are kept.
const WORDS: usize = 240;

/// What an object of a reply says.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Seen {
    /// Whether tokens came with it.
    pub(super) carries: Carries,
    /// Whether it has a finish reason.
    pub(super) finished: bool,
    /// The server's count, where it came along; the last one counts.
    pub(super) usage: Option<Usage>,
    /// The server's words, where it is an error.
    pub(super) error: Option<String>,
    /// The model that it says it is of.
    pub(super) model: Option<String>,
}

/// Whether tokens came with a chunk.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) enum Carries {
    /// At least one, also where its text is empty: vLLM sends such for half a UTF-8 character.
    Tokens,
    /// Nothing but empty text and a finish reason: from vLLM the last token, from llama.cpp and transformers no token.
    EmptyFinish,
    /// None: a role, a count, progress.
    #[default]
    Nothing,
}

/// The server's count of tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub(super) struct Usage {
    /// Tokens of the prompt.
    pub(super) prompt_tokens: Option<u32>,
    /// Tokens of the reply.
    pub(super) completion_tokens: Option<u32>,
    prompt_tokens_details: Option<PromptDetails>,
}

impl Usage {
    /// Prompt tokens that were not computed but taken from a cache.
    pub(super) fn cached_tokens(&self) -> Option<u32> {
        self.prompt_tokens_details?.cached_tokens
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
struct PromptDetails {
    cached_tokens: Option<u32>,
}

#[derive(Deserialize)]
struct Object {
    choices: Option<Vec<Choice>>,
    usage: Option<Usage>,
    error: Option<Value>,
    object: Option<String>,
    message: Option<Value>,
    model: Option<Value>,
}

#[derive(Deserialize)]
struct Choice {
    text: Option<Value>,
    delta: Option<Delta>,
    message: Option<Delta>,
    finish_reason: Option<Value>,
}

#[derive(Deserialize)]
struct Delta {
    role: Option<Value>,
    content: Option<Value>,
    /// vLLM's name for it.
    reasoning: Option<Value>,
    /// SGLang's name for it, and older vLLM's.
    reasoning_content: Option<Value>,
    tool_calls: Option<Value>,
    function_call: Option<Value>,
}

/// Looks at one object.
///
/// # Errors
/// It is not JSON, or not an object of the OpenAI kind.
pub(super) fn look(data: &[u8]) -> Result<Seen, serde_json::Error> {
    let object: Object = serde_json::from_slice(data)?;
    // Older vLLM sends `{"object": "error", "message": ..}`, newer `{"error": {..}}`.
    let error = match object.error {
        Some(error) => Some(words_of(&error)),
        None if object.object.as_deref() == Some("error") => {
            Some(words_of(&object.message.unwrap_or(Value::Null)))
        }
        None => None,
    };
    let choices = object.choices.unwrap_or_default();
    Ok(Seen {
        carries: choices.first().map_or(Carries::Nothing, Choice::carries),
        finished: choices.iter().any(Choice::is_finished),
        usage: object.usage,
        error,
        model: match object.model {
            Some(Value::String(name)) => Some(name),
            _ => None,
        },
    })
}

impl Choice {
    fn is_finished(&self) -> bool {
        self.finish_reason.as_ref().is_some_and(is_filled)
    }

    fn carries(&self) -> Carries {
        let (filled, empty) = match self.delta.as_ref().or(self.message.as_ref()) {
            Some(delta) => delta.filled_or_empty(),
            None => {
                let filled = self.text.as_ref().is_some_and(is_filled);
                (filled, self.text.is_some())
            }
        };
        match (filled, empty, self.is_finished()) {
            (true, _, _) | (_, true, false) => Carries::Tokens,
            (false, true, true) => Carries::EmptyFinish,
            (false, false, _) => Carries::Nothing,
        }
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
        let filled = fields.into_iter().flatten().any(is_filled);
        let texts = [&self.content, &self.reasoning, &self.reasoning_content];
        let empty = self.role.is_none() && texts.into_iter().any(Option::is_some);
        (filled, empty)
    }
}

fn is_filled(value: &Value) -> bool {
    match value {
        Value::String(text) => !text.is_empty(),
        Value::Array(list) => !list.is_empty(),
        Value::Null => false,
        _ => true,
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

/// A server's words on one line, cut to a length that fits a table.
pub(super) fn words(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(WORDS) {
        Some((end, _)) => format!("{}...", &line[..end]),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn carries(data: &str) -> Carries {
        look(data.as_bytes()).unwrap().carries
    }

    #[test]
    fn tokens_are_told_from_what_only_looks_like_one() {
        use Carries::{EmptyFinish, Nothing, Tokens};
        let chat =
            |delta: &str| format!(r#"{{"choices":[{{"delta":{delta},"finish_reason":null}}]}}"#);
        for (data, expected) in [
            (chat(r#"{"role":"assistant","content":""}"#), Nothing),
            (chat(r#"{"role":"assistant","content":null}"#), Nothing),
            (chat(r#"{"role":"assistant"}"#), Nothing),
            // A server that repeats the role with every token.
            (chat(r#"{"role":"assistant","content":"a"}"#), Tokens),
            (chat(r#"{"content":"a"}"#), Tokens),
            (chat(r#"{"content":""}"#), Tokens),
            (chat(r#"{"reasoning":"a"}"#), Tokens),
            (chat(r#"{"reasoning_content":"a","content":null}"#), Tokens),
            (chat(r#"{"tool_calls":[{"index":0}]}"#), Tokens),
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
            assert_eq!(carries(&data), expected, "{data}");
        }
    }

    #[test]
    fn a_count_inside_a_chunk_with_choices_is_seen() {
        let seen = look(
            br#"{"choices":[{"text":"","finish_reason":"length"}],"usage":{"prompt_tokens":2,"completion_tokens":3,"prompt_tokens_details":{"cached_tokens":1}}}"#,
        )
        .unwrap();
        let usage = seen.usage.unwrap();
        assert_eq!(
            (
                usage.prompt_tokens,
                usage.completion_tokens,
                usage.cached_tokens()
            ),
            (Some(2), Some(3), Some(1))
        );
        assert!(seen.finished);
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
            assert_eq!(
                look(data.as_bytes()).unwrap().error.as_deref(),
                Some(expected)
            );
        }
        assert_eq!(look(br#"{"error":null,"choices":[]}"#).unwrap().error, None);
        assert!(look(b"<html>").is_err());
    }
}
