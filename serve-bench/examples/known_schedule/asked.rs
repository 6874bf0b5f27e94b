//! What a request for tokens asks for.

use serde::Deserialize;
use serde_json::Value;

/// Tokens of a reply where the request does not say; vLLM's own default for completions.
const TOKENS: u32 = 16;

/// What a request asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Asked {
    /// Whether usage is to be sent.
    pub(super) usage: bool,
    /// Output tokens.
    pub(super) tokens: u32,
    /// Words of the prompt, or ids.
    pub(super) prompt_tokens: usize,
}

#[derive(Deserialize)]
struct Body {
    max_tokens: Option<u32>,
    stream_options: Option<StreamOptions>,
    #[serde(default)]
    prompt: Value,
}

#[derive(Deserialize)]
struct StreamOptions {
    #[serde(default)]
    include_usage: bool,
}

impl Asked {
    /// Reads the body of a request for a stream of completions.
    ///
    /// # Errors
    /// It is not JSON of the OpenAI kind.
    pub(super) fn read(body: &[u8]) -> serde_json::Result<Self> {
        let body: Body = serde_json::from_slice(body)?;
        let options = body.stream_options.as_ref();
        Ok(Self {
            usage: options.is_some_and(|options| options.include_usage),
            tokens: body.max_tokens.unwrap_or(TOKENS).max(1),
            prompt_tokens: words(&body.prompt),
        })
    }
}

/// Words of a text, ids of a list.
fn words(prompt: &Value) -> usize {
    match prompt {
        Value::String(text) => text.split_whitespace().count(),
        Value::Array(parts) => parts.len(),
        _ => 0,
    }
}
