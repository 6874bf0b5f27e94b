//! The two request bodies, read and checked, as what the engine needs: prompt tokens, keys of their blocks, and output tokens.
//!
//! Fields that do not change the work (temperature, seed, stop, logprobs and so on) are ignored. There is no end of
//! sequence, so `ignore_eos` and `min_tokens` hold without being asked for.

use std::hash::{DefaultHasher, Hash, Hasher};

use engine::{Limits, Refused, Request};
use serde::Deserialize;
use serde_json::Value;

use super::dialect::Endpoint;
use super::error::ApiError;

/// Output tokens of a completion that names none, as vLLM.
const COMPLETION_TOKENS: u32 = 16;
/// Output tokens of a chat reply that names none. vLLM would go on to the longest sequence or the model's own end.
const CHAT_TOKENS: u32 = 256;

/// A request that the engine can take.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Asked {
    /// How long prompt and output are; its number is given later.
    pub(super) request: Request,
    /// A key for each whole block of the prompt, which stands for it and all before it; empty without prefix caching.
    pub(super) keys: Vec<u64>,
    pub(super) streamed: bool,
    /// Whether the stream ends with a usage chunk.
    pub(super) usage: bool,
}

/// A prompt while its tokens are read.
#[derive(Default)]
struct Prompt {
    tokens: u32,
    /// Tokens of a block; `None` where no keys are wanted.
    block: Option<u32>,
    /// Of all tokens so far. Its own keys are fixed, so that a prompt has the same hash in every process.
    hash: DefaultHasher,
    keys: Vec<u64>,
}

impl Prompt {
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
        text.split_whitespace().for_each(|word| self.token(word));
    }

    /// Words of a text, or ids of an array; `false` for anything else.
    fn completion(&mut self, given: &Value) -> bool {
        match given {
            Value::String(text) => self.text(text),
            Value::Array(ids) if ids.iter().all(Value::is_u64) => {
                ids.iter().for_each(|id| self.token(id.as_u64()));
            }
            _ => return false,
        }
        true
    }

    /// Words of all messages; a chat template would add a few tokens each.
    fn chat(&mut self, messages: &[Message]) -> bool {
        let mut take = |text: Option<&str>| text.map(|text| self.text(text)).is_some();
        messages.iter().all(|message| match &message.content {
            Some(Value::Array(parts)) => parts
                .iter()
                .all(|part| take(part.get("text").and_then(Value::as_str))),
            None | Some(Value::Null) => true,
            Some(content) => take(content.as_str()),
        })
    }
}

#[derive(Deserialize)]
struct Body {
    model: Option<String>,
    prompt: Option<Value>,
    messages: Option<Vec<Message>>,
    max_tokens: Option<u32>,
    max_completion_tokens: Option<u32>,
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
            let message = "n must be 1: the simulated engine gives one reply a request";
            return Err(ApiError::refused(Some("n"), message));
        }
        let mut prompt = Prompt {
            block,
            ..Prompt::default()
        };
        let (field, is_read) = match endpoint {
            Endpoint::Completions => {
                let given = body.prompt.as_ref();
                (
                    "prompt",
                    given.is_some_and(|given| prompt.completion(given)),
                )
            }
            Endpoint::Chat => {
                let given = body.messages.as_ref();
                ("messages", given.is_some_and(|given| prompt.chat(given)))
            }
        };
        if !is_read {
            let message = "the simulated engine takes one text or array of token ids as prompt, and messages of text";
            return Err(ApiError::refused(Some(field), message));
        }
        let prompt_tokens = prompt.tokens;
        let left = limits.max_model_len.saturating_sub(prompt_tokens);
        let usual = match endpoint {
            Endpoint::Completions => COMPLETION_TOKENS,
            Endpoint::Chat => CHAT_TOKENS.min(left).max(1),
        };
        let output_tokens = body.max_completion_tokens.or(body.max_tokens);
        let output_tokens = output_tokens.unwrap_or(usual);
        let request = Request {
            id: 0,
            prompt_tokens,
            output_tokens,
        };
        limits.check(&request).map_err(refusal)?;
        let options = body.stream_options;
        Ok(Self {
            request,
            keys: prompt.keys,
            streamed: body.stream.unwrap_or(false),
            usage: options.is_some_and(|options| options.include_usage == Some(true)),
        })
    }
}

/// The engine's refusal, where clients look for them in vLLM's words.
fn refusal(refused: Refused) -> ApiError {
    match refused {
        Refused::TooLong {
            prompt,
            output,
            limit,
        } => {
            let total = u64::from(prompt) + u64::from(output);
            let message = format!(
                "This model's maximum context length is {limit} tokens. However, you requested {output} output tokens and your prompt contains {prompt} input tokens, for a total of {total} tokens. Please reduce the length of the input prompt or the number of requested output tokens."
            );
            ApiError::refused(Some("input_tokens"), message)
        }
        other => ApiError::refused(None, other.to_string()),
    }
}
