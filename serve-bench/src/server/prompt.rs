//! The two request bodies, read and checked, as what the engine needs: prompt tokens, keys of their blocks, and output tokens.
//!
//! Fields that do not change the work (temperature, seed, stop, logprobs and so on) are ignored. There is no end of
//! sequence, so `ignore_eos` and `min_tokens` hold without being asked for.

use std::hash::{DefaultHasher, Hash, Hasher};

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
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Asked {
    pub(super) prompt_tokens: u32,
    /// A key for each whole block of the prompt, which stands for it and all before it; empty without prefix caching.
    pub(super) keys: Vec<u64>,
    pub(super) output_tokens: u32,
    pub(super) streamed: bool,
    /// Whether the stream ends with a usage chunk.
    pub(super) usage: bool,
}

/// A prompt while its tokens are read.
struct Prompt {
    tokens: u32,
    /// Tokens of a block; `None` where no keys are wanted.
    block: Option<u32>,
    /// Of all tokens so far.
    hash: DefaultHasher,
    keys: Vec<u64>,
}

impl Prompt {
    fn new(block: Option<u32>) -> Self {
        Self {
            tokens: 0,
            block,
            // Its keys are fixed, so that a prompt has the same keys in every process.
            hash: DefaultHasher::new(),
            keys: Vec::new(),
        }
    }

    fn token(&mut self, token: impl Hash) {
        self.tokens = self.tokens.saturating_add(1);
        let Some(block) = self.block else {
            return;
        };
        token.hash(&mut self.hash);
        if self.tokens.is_multiple_of(block) {
            self.keys.push(self.hash.finish());
        }
    }

    fn text(&mut self, text: &str) {
        for word in text.split_whitespace() {
            self.token(word);
        }
    }
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
    /// Reads a body; with the tokens of a block the prompt gets keys.
    pub(super) fn read(
        body: &[u8],
        endpoint: Endpoint,
        model: &str,
        limits: &Limits,
        block: Option<u32>,
    ) -> Result<Self, ApiError> {
        let body: Body = serde_json::from_slice(body)
            .map_err(|error| ApiError::invalid(format!("the body is not understood: {error}")))?;
        if let Some(name) = body.model.as_deref().filter(|name| *name != model) {
            return Err(ApiError::no_model(name));
        }
        if body.n.is_some_and(|n| n != 1) {
            return Err(ApiError::refused(
                Some("n"),
                "n must be 1: the simulated engine gives one reply a request",
            ));
        }
        let mut prompt = Prompt::new(block);
        match endpoint {
            Endpoint::Completions => completion_tokens(body.prompt.as_ref(), &mut prompt)?,
            Endpoint::Chat => chat_tokens(body.messages.as_deref(), &mut prompt)?,
        }
        let prompt_tokens = prompt.tokens;
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
            keys: prompt.keys,
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
fn completion_tokens(given: Option<&Value>, prompt: &mut Prompt) -> Result<(), ApiError> {
    match given {
        Some(Value::String(text)) => prompt.text(text),
        Some(Value::Array(ids)) if ids.iter().all(Value::is_u64) => {
            ids.iter().for_each(|id| prompt.token(id.as_u64()));
        }
        Some(Value::Array(_)) => {
            return Err(ApiError::refused(
                Some("prompt"),
                "prompt must be one text or one array of token ids: the simulated engine takes one prompt a request",
            ));
        }
        Some(_) => {
            return Err(ApiError::invalid(
                "prompt must be a text or an array of token ids",
            ));
        }
        None => return Err(ApiError::invalid("prompt is missing")),
    }
    Ok(())
}

/// Words of all messages; a chat template would add a few tokens each.
fn chat_tokens(messages: Option<&[Message]>, prompt: &mut Prompt) -> Result<(), ApiError> {
    let Some(messages) = messages else {
        return Err(ApiError::invalid("messages is missing"));
    };
    for message in messages {
        match &message.content {
            Some(Value::String(text)) => prompt.text(text),
            Some(Value::Array(parts)) => {
                for part in parts {
                    let text = part.get("text").and_then(Value::as_str).ok_or_else(|| {
                        ApiError::refused(
                            Some("messages"),
                            "the simulated engine takes text parts only",
                        )
                    })?;
                    prompt.text(text);
                }
            }
            Some(Value::Null) | None => {}
            Some(_) => {
                return Err(ApiError::invalid(
                    "content must be a text or an array of parts",
                ));
            }
        }
    }
    Ok(())
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
