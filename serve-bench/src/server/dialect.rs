//! How serving engines word the same reply: the parts of their streams, made once for a request, and their whole replies.
//!
//! vLLM's shapes are those of its 0.32; SGLang's are after its source (0.5) and not after a server that ran. What varies within a
//! stream is the text and the last chunk's finish reason; all else is fixed text around them.

use clap::ValueEnum;
use hyper::header::HeaderValue;

use super::reply::{Endpoint, Head, Usage, fingerprint, quoted, text};

/// Content type of streams.
pub(super) const EVENTS: HeaderValue = HeaderValue::from_static("text/event-stream; charset=utf-8");

/// The event that ends a stream.
pub(super) const DONE: &str = "data: [DONE]\n\n";

/// An engine whose way of answering is spoken.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(super) enum Dialect {
    /// vLLM: the finish reason with the last token, the count in a chunk of its own.
    #[default]
    Vllm,
    /// SGLang: a role chunk, empty members spelled out.
    Sglang,
}

/// The parts of one stream.
#[derive(Debug, Clone)]
pub(super) struct Chunks {
    /// What comes before the first token of a chat reply.
    role: Option<String>,
    /// A chunk up to its text.
    before: String,
    /// A chunk from its text on.
    after: String,
    /// The last chunk from its text on.
    after_last: String,
    /// An event of its own behind the last token.
    finish: String,
    /// The chunk without choices up to the count.
    apart: String,
    /// What stands behind its count.
    behind_usage: String,
    dialect: Dialect,
    tells_cached: bool,
}

impl Dialect {
    /// The chunks of one stream.
    pub(super) fn chunks(self, head: &Head, tells_cached: bool) -> Chunks {
        let fields = match head.endpoint {
            Endpoint::Completions => fields(head, "text_completion"),
            Endpoint::Chat => fields(head, "chat.completion.chunk"),
        };
        let choice = format!(r#"data: {fields},"choices":[{{"index":0,"#);
        let role = match (self, head.endpoint) {
            (_, Endpoint::Completions) => None,
            (Self::Vllm, Endpoint::Chat) => Some(
                r#""delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null}],"prompt_token_ids":null,"prompt_text":null}"#,
            ),
            (Self::Sglang, Endpoint::Chat) => Some(
                r#""delta":{"role":"assistant","content":"","reasoning_content":null,"tool_calls":null},"logprobs":null,"finish_reason":null,"matched_stop":null}],"usage":null}"#,
            ),
        };
        let (before, after, after_last) = match (self, head.endpoint) {
            (Self::Vllm, Endpoint::Completions) => (
                r#""text":""#,
                r#"","logprobs":null,"finish_reason":null,"stop_reason":null,"prompt_token_ids":null,"token_ids":null}]}"#,
                r#"","logprobs":null,"finish_reason":"length","stop_reason":null,"prompt_token_ids":null,"token_ids":null}]}"#,
            ),
            (Self::Vllm, Endpoint::Chat) => (
                r#""delta":{"content":""#,
                r#""},"logprobs":null,"finish_reason":null,"token_ids":null}]}"#,
                r#""},"logprobs":null,"finish_reason":"length","stop_reason":null,"token_ids":null}]}"#,
            ),
            (Self::Sglang, Endpoint::Completions) => (
                r#""text":""#,
                r#"","logprobs":null,"finish_reason":null,"matched_stop":null}],"usage":null}"#,
                r#"","logprobs":null,"finish_reason":"length","matched_stop":null}],"usage":null}"#,
            ),
            (Self::Sglang, Endpoint::Chat) => (
                r#""delta":{"role":null,"content":""#,
                r#"","reasoning_content":null,"tool_calls":null},"logprobs":null,"finish_reason":null,"matched_stop":null}],"usage":null}"#,
                r#"","reasoning_content":null,"tool_calls":null},"logprobs":null,"finish_reason":null,"matched_stop":null}],"usage":null}"#,
            ),
        };
        let finish = match (self, head.endpoint) {
            (Self::Sglang, Endpoint::Chat) => format!(
                "{choice}{}\n\n",
                r#""delta":{"role":null,"content":null,"reasoning_content":null,"tool_calls":null},"logprobs":null,"finish_reason":"length","matched_stop":null}],"usage":null}"#
            ),
            _ => String::new(),
        };
        Chunks {
            role: role.map(|role| format!("{choice}{role}\n\n")),
            before: format!("{choice}{before}"),
            after: format!("{after}\n\n"),
            after_last: format!("{after_last}\n\n"),
            finish,
            apart: format!(r#"data: {fields},"choices":[],"usage":"#),
            behind_usage: match self {
                Self::Vllm => format!(",\"system_fingerprint\":{}}}\n\n", quoted(&fingerprint())),
                Self::Sglang => "}\n\n".to_owned(),
            },
            dialect: self,
            tells_cached,
        }
    }

    /// A reply that is not streamed.
    pub(super) fn whole(self, head: &Head, usage: Usage, tells_cached: bool) -> String {
        let content = quoted(&text(0, usage.completion_tokens));
        let object = match head.endpoint {
            Endpoint::Completions => "text_completion",
            Endpoint::Chat => "chat.completion",
        };
        let (told, end) = match (self, head.endpoint) {
            (Self::Vllm, Endpoint::Completions) => (
                format!(r#""text":{content}"#),
                r#""stop_reason":null,"token_ids":null,"prompt_logprobs":null,"prompt_token_ids":null"#,
            ),
            (Self::Vllm, Endpoint::Chat) => (
                format!(r#""message":{{"role":"assistant","content":{content}}}"#),
                r#""stop_reason":null,"token_ids":null"#,
            ),
            (Self::Sglang, Endpoint::Completions) => {
                (format!(r#""text":{content}"#), r#""matched_stop":null"#)
            }
            (Self::Sglang, Endpoint::Chat) => (
                format!(
                    r#""message":{{"role":"assistant","content":{content},"reasoning_content":null,"tool_calls":null}}"#
                ),
                r#""matched_stop":null"#,
            ),
        };
        let service = match self {
            Self::Vllm => format!(
                r#","service_tier":null,"system_fingerprint":{}"#,
                quoted(&fingerprint())
            ),
            Self::Sglang => String::new(),
        };
        format!(
            r#"{},"choices":[{{"index":0,{told},"logprobs":null,"finish_reason":"length",{end}}}]{service},"usage":{}}}"#,
            fields(head, object),
            self.usage(usage, tells_cached)
        )
    }

    /// The count; vLLM's has no place for what it does not tell.
    fn usage(self, usage: Usage, tells_cached: bool) -> String {
        let details = match (tells_cached, self) {
            (true, _) => format!(
                r#","prompt_tokens_details":{{"cached_tokens":{}}}"#,
                usage.cached_tokens
            ),
            (false, Self::Sglang) => r#","prompt_tokens_details":null"#.to_owned(),
            (false, Self::Vllm) => String::new(),
        };
        format!(
            r#"{{"prompt_tokens":{},"total_tokens":{},"completion_tokens":{}{details}}}"#,
            usage.prompt_tokens,
            usage.total_tokens(),
            usage.completion_tokens
        )
    }
}

impl Chunks {
    /// The events of tokens that come together: those from `first` on, so many, and whether the last one is among them.
    pub(super) fn tokens(&mut self, first: u32, count: u32, last: bool) -> String {
        let mut events = self.role.take().unwrap_or_default();
        events.push_str(&self.before);
        events.push_str(&text(first, first + count));
        events.push_str(if last { &self.after_last } else { &self.after });
        events
    }

    /// What follows the last token.
    pub(super) fn tail(&self, usage: Usage, counts: bool) -> String {
        let mut events = self.finish.clone();
        if counts {
            events.push_str(&self.apart);
            events.push_str(&self.dialect.usage(usage, self.tells_cached));
            events.push_str(&self.behind_usage);
        }
        events + DONE
    }
}

/// `"id":..,"object":..,"created":..,"model":..` as every part begins.
fn fields(head: &Head, object: &str) -> String {
    format!(
        r#"{{"id":{},"object":"{object}","created":{},"model":{}"#,
        quoted(&head.id),
        head.created,
        quoted(&head.model)
    )
}
