//! The full look at an object of a reply, by serde: for every shape, also those that no engine is known to send.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::Value;

use crate::chunk::{Carries, Seen, Usage, words};

#[derive(Deserialize)]
struct Object {
    choices: Option<Vec<Choice>>,
    usage: Option<Counts>,
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
    /// vLLM's, where `return_token_ids` was asked for.
    token_ids: Option<Value>,
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
    let carries = choices.iter().map(Choice::carries).max();
    let token_ids = choices.iter().filter_map(Choice::token_ids);
    Ok(Seen {
        carries: carries.unwrap_or_default(),
        token_ids: token_ids.reduce(u32::saturating_add),
        finished: choices.iter().any(Choice::is_finished),
        usage: object.usage.map(|counts| Usage {
            prompt_tokens: counts.prompt_tokens,
            completion_tokens: counts.completion_tokens,
            cached_tokens: counts
                .prompt_tokens_details
                .and_then(|details| details.cached_tokens),
        }),
        error,
        model: match object.model {
            Some(Value::String(name)) => Some(Cow::Owned(name)),
            _ => None,
        },
    })
}

impl Choice {
    fn is_finished(&self) -> bool {
        self.finish_reason.as_ref().is_some_and(is_filled)
    }

    fn token_ids(&self) -> Option<u32> {
        let ids = self.token_ids.as_ref()?.as_array()?;
        Some(u32::try_from(ids.len()).unwrap_or(u32::MAX))
    }

    fn carries(&self) -> Carries {
        let (filled, empty) = match self.delta.as_ref().or(self.message.as_ref()) {
            Some(delta) => delta.filled_or_empty(),
            None => {
                let filled = self.text.as_ref().is_some_and(is_filled);
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
