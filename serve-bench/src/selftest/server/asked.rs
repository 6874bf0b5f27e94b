//! What a request for tokens asks for.

use serde::Deserialize;
use serde_json::Value;

/// Tokens of a reply where the request does not say; vLLM's own default for completions.
const TOKENS: u32 = 16;

/// What a request asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Asked {
    /// Whether it is a chat.
    pub(super) chat: bool,
    /// Whether the reply is to be streamed.
    pub(super) stream: bool,
    /// Whether usage is to be sent.
    pub(super) usage: bool,
    /// Output tokens.
    pub(super) tokens: u32,
    /// Prompt tokens: words, or ids.
    pub(super) prompt_tokens: usize,
}

#[derive(Deserialize)]
struct Body {
    max_tokens: Option<u32>,
    max_completion_tokens: Option<u32>,
    #[serde(default)]
    stream: bool,
    stream_options: Option<StreamOptions>,
    #[serde(default)]
    prompt: Value,
    #[serde(default)]
    messages: Vec<Message>,
}

#[derive(Deserialize)]
struct StreamOptions {
    #[serde(default)]
    include_usage: bool,
}

#[derive(Deserialize)]
struct Message {
    #[serde(default)]
    content: Value,
}

impl Asked {
    /// Reads a body.
    ///
    /// # Errors
    /// It is not JSON of the OpenAI kind.
    pub(super) fn read(body: &[u8], chat: bool) -> serde_json::Result<Self> {
        let body: Body = serde_json::from_slice(body)?;
        let tokens = body.max_completion_tokens.or(body.max_tokens);
        let options = body.stream_options.as_ref();
        let messages = body.messages.iter().map(|message| words(&message.content));
        Ok(Self {
            chat,
            stream: body.stream,
            usage: !body.stream || options.is_some_and(|options| options.include_usage),
            tokens: tokens.unwrap_or(TOKENS).max(1),
            prompt_tokens: words(&body.prompt) + messages.sum::<usize>(),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_says_how_many_tokens_and_whether_streamed_with_usage() {
        let body = br#"{"model":"m","prompt":"a b c","max_tokens":7,"stream":true,"stream_options":{"include_usage":true},"seed":1}"#;
        let asked = Asked::read(body, false).unwrap();
        assert_eq!(
            asked,
            Asked {
                chat: false,
                stream: true,
                usage: true,
                tokens: 7,
                prompt_tokens: 3,
            }
        );
        let chat = br#"{"messages":[{"role":"system","content":"a b"},{"role":"user","content":"c"}],"max_completion_tokens":2}"#;
        let chat = Asked::read(chat, true).unwrap();
        assert_eq!((chat.tokens, chat.prompt_tokens, chat.usage), (2, 3, true));
        assert!(Asked::read(b"[]", false).is_err());
    }
}
