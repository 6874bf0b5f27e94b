//! The two request bodies, read and checked, as what the engine needs: prompt tokens and output tokens.
//!
//! Fields that do not change the work (temperature, seed, stop, logprobs and so on) are ignored. There is no end of
//! sequence, so `ignore_eos` and `min_tokens` hold without being asked for.

use engine::{Limits, Refused, Request};
use serde::Deserialize;
use serde_json::Value;

use super::error::ApiError;
use super::reply::Endpoint;

/// Output tokens of a completion that names none, as vLLM.
const COMPLETION_TOKENS: u32 = 16;
/// Output tokens of a chat reply that names none. vLLM would go on to the longest sequence or the model's own end.
const CHAT_TOKENS: u32 = 256;

/// A request that the engine can take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Asked {
    pub(super) prompt_tokens: u32,
    pub(super) output_tokens: u32,
    pub(super) streamed: bool,
    /// Whether the stream ends with a usage chunk.
    pub(super) usage: bool,
}

#[derive(Deserialize)]
struct Body {
    model: Option<String>,
    prompt: Option<Value>,
    messages: Option<Vec<Message>>,
    max_tokens: Option<u32>,
    max_completion_tokens: Option<u32>,
    min_tokens: Option<u32>,
    n: Option<u32>,
    stream: Option<bool>,
    stream_options: Option<StreamOptions>,
}

#[derive(Deserialize)]
struct Message {
    content: Option<Value>,
}

#[derive(Deserialize)]
struct StreamOptions {
    include_usage: Option<bool>,
}

impl Asked {
    /// Reads a body.
    pub(super) fn read(
        body: &[u8],
        endpoint: Endpoint,
        model: &str,
        limits: &Limits,
    ) -> Result<Self, ApiError> {
        let body: Body = serde_json::from_slice(body)
            .map_err(|error| ApiError::invalid(format!("the body is not understood: {error}")))?;
        if let Some(name) = body.model.as_deref().filter(|name| *name != model) {
            return Err(ApiError::no_model(name));
        }
        if body.n.is_some_and(|n| n != 1) {
            return Err(ApiError::refused(
                Some("n"),
                "n must be 1: the soft engine gives one reply a request",
            ));
        }
        let prompt_tokens = match endpoint {
            Endpoint::Completions => completion_tokens(body.prompt.as_ref())?,
            Endpoint::Chat => chat_tokens(body.messages.as_deref())?,
        };
        let output_tokens = body
            .max_completion_tokens
            .or(body.max_tokens)
            .unwrap_or_else(|| default_output(endpoint, prompt_tokens, limits));
        if body.min_tokens.is_some_and(|least| least > output_tokens) {
            return Err(ApiError::refused(
                Some("min_tokens"),
                format!("min_tokens must be less than or equal to max_tokens={output_tokens}"),
            ));
        }
        limits
            .check(&Request {
                id: 0,
                prompt_tokens,
                output_tokens,
            })
            .map_err(refusal)?;
        Ok(Self {
            prompt_tokens,
            output_tokens,
            streamed: body.stream.unwrap_or(false),
            usage: body
                .stream_options
                .and_then(|options| options.include_usage)
                .unwrap_or(false),
        })
    }
}

fn default_output(endpoint: Endpoint, prompt_tokens: u32, limits: &Limits) -> u32 {
    match endpoint {
        Endpoint::Completions => COMPLETION_TOKENS,
        Endpoint::Chat => CHAT_TOKENS
            .min(limits.max_model_len.saturating_sub(prompt_tokens))
            .max(1),
    }
}

/// Tokens of `prompt`: words of a text, or ids of an array.
fn completion_tokens(prompt: Option<&Value>) -> Result<u32, ApiError> {
    match prompt {
        Some(Value::String(text)) => Ok(words(text)),
        Some(Value::Array(ids)) if ids.iter().all(Value::is_u64) => Ok(count(ids.len())),
        Some(Value::Array(_)) => Err(ApiError::refused(
            Some("prompt"),
            "prompt must be one text or one array of token ids: the soft engine takes one prompt a request",
        )),
        Some(_) => Err(ApiError::invalid(
            "prompt must be a text or an array of token ids",
        )),
        None => Err(ApiError::invalid("prompt is missing")),
    }
}

/// Words of all messages; a chat template would add a few tokens each.
fn chat_tokens(messages: Option<&[Message]>) -> Result<u32, ApiError> {
    let Some(messages) = messages else {
        return Err(ApiError::invalid("messages is missing"));
    };
    messages.iter().try_fold(0_u32, |sum, message| {
        let tokens = match &message.content {
            Some(Value::String(text)) => words(text),
            Some(Value::Array(parts)) => parts.iter().try_fold(0_u32, |sum, part| {
                let text = part.get("text").and_then(Value::as_str);
                text.map(|text| sum.saturating_add(words(text)))
                    .ok_or_else(|| {
                        ApiError::refused(Some("messages"), "the soft engine takes text parts only")
                    })
            })?,
            Some(Value::Null) | None => 0,
            Some(_) => {
                return Err(ApiError::invalid(
                    "content must be a text or an array of parts",
                ));
            }
        };
        Ok(sum.saturating_add(tokens))
    })
}

fn words(text: &str) -> u32 {
    count(text.split_whitespace().count())
}

fn count(of: usize) -> u32 {
    u32::try_from(of).unwrap_or(u32::MAX)
}

/// The engine's refusal in vLLM's words where it has them.
fn refusal(refused: Refused) -> ApiError {
    match refused {
        Refused::EmptyPrompt => ApiError::refused(
            Some("prompt"),
            "Either prompt or messages must hold at least one token.",
        ),
        Refused::NoOutput => {
            ApiError::refused(Some("max_tokens"), "max_tokens must be at least 1, got 0.")
        }
        Refused::TooLong {
            prompt,
            output,
            limit,
        } => ApiError::refused(
            Some("input_tokens"),
            format!(
                "This model's maximum context length is {limit} tokens. However, you requested {output} output tokens and your prompt contains {prompt} input tokens, for a total of {} tokens. Please reduce the length of the input prompt or the number of requested output tokens.",
                u64::from(prompt) + u64::from(output)
            ),
        ),
        other => ApiError::refused(None, other.to_string()),
    }
}
