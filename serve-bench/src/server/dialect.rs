//! How serving engines word the same reply: the parts of their streams, made once for a request, and their whole replies.
//!
//! vLLM's shapes are those of its 0.32; SGLang's are after its source (0.5) and not after a server that ran. What varies within a
//! stream is the text and the last chunk's finish reason; all else is fixed text around them.

use clap::ValueEnum;

use super::reply::{Endpoint, Head, Usage, fingerprint, quoted, text};

/// The event that ends a stream.
pub(super) const DONE: &str = "data: [DONE]\n\n";

/// The finish reason of every reply, as JSON.
const LENGTH: &str = "\"length\"";

/// An engine whose way of answering is spoken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Dialect {
    /// vLLM: the finish reason with the last token, the count in a chunk of its own.
    Vllm,
    /// SGLang: a role chunk, empty members spelled out.
    Sglang,
}

/// The parts of one stream.
#[derive(Debug, Clone)]
pub(super) struct Chunks {
    /// What comes before the first token of a chat reply.
    role: String,
    /// A chunk up to its text.
    before: String,
    /// A chunk from its text on, and the last one.
    after: [String; 2],
    /// An event of its own behind the last token.
    finish: String,
    /// The chunk without choices up to the count, and what stands behind the count.
    apart: [String; 2],
    dialect: Dialect,
    tells_cached: bool,
}

impl Dialect {
    /// What stands before and behind the text of a chunk's choice.
    fn around(self, endpoint: Endpoint) -> [&'static str; 2] {
        match (self, endpoint) {
            (_, Endpoint::Completions) => [r#""text":""#, r#"""#],
            (Self::Vllm, Endpoint::Chat) => [r#""delta":{"content":""#, r#""}"#],
            (Self::Sglang, Endpoint::Chat) => [
                r#""delta":{"role":null,"content":""#,
                r#"","reasoning_content":null,"tool_calls":null}"#,
            ],
        }
    }

    /// The end of a chunk with this finish reason, from behind its text on.
    fn end(self, endpoint: Endpoint, reason: &str) -> String {
        let behind = match (self, endpoint, reason) {
            (Self::Sglang, ..) => r#","matched_stop":null}],"usage":null}"#,
            (Self::Vllm, Endpoint::Completions, _) => {
                r#","stop_reason":null,"prompt_token_ids":null,"token_ids":null}]}"#
            }
            (Self::Vllm, Endpoint::Chat, "null") => r#","token_ids":null}]}"#,
            (Self::Vllm, Endpoint::Chat, _) => r#","stop_reason":null,"token_ids":null}]}"#,
        };
        format!(r#","logprobs":null,"finish_reason":{reason}{behind}"#)
    }

    /// The chunks of one stream.
    pub(super) fn chunks(self, head: &Head, tells_cached: bool) -> Chunks {
        let endpoint = head.endpoint;
        let is_apart = (self, endpoint) == (Self::Sglang, Endpoint::Chat);
        let [before, behind] = self.around(endpoint);
        let end = |reason| self.end(endpoint, reason);
        let last = if is_apart { "null" } else { LENGTH };
        let role = match (self, endpoint) {
            (_, Endpoint::Completions) => None,
            (Self::Vllm, Endpoint::Chat) => Some(
                r#""delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null}],"prompt_token_ids":null,"prompt_text":null}"#.to_owned(),
            ),
            (Self::Sglang, Endpoint::Chat) => Some(format!(
                r#""delta":{{"role":"assistant","content":"{behind}{}"#,
                end("null")
            )),
        };
        let finish = is_apart.then(|| {
            let delta = r#""delta":{"role":null,"content":null,"reasoning_content":null,"tool_calls":null}"#;
            format!("{delta}{}", end(LENGTH))
        });
        let object = match endpoint {
            Endpoint::Completions => "text_completion",
            Endpoint::Chat => "chat.completion.chunk",
        };
        let fields = fields(head, object);
        let choice = format!(r#"data: {fields},"choices":[{{"index":0,"#);
        let event = |text: String| format!("{choice}{text}\n\n");
        let build = match self {
            Self::Vllm => format!(r#","system_fingerprint":{}"#, quoted(&fingerprint())),
            Self::Sglang => String::new(),
        };
        Chunks {
            role: role.map(event).unwrap_or_default(),
            before: format!("{choice}{before}"),
            after: ["null", last].map(|reason| format!("{behind}{}\n\n", end(reason))),
            finish: finish.map(event).unwrap_or_default(),
            apart: [
                format!(r#"data: {fields},"choices":[],"usage":"#),
                format!("{build}}}\n\n"),
            ],
            dialect: self,
            tells_cached,
        }
    }

    /// A reply that is not streamed.
    pub(super) fn whole(self, head: &Head, usage: Usage, tells_cached: bool) -> String {
        let content = quoted(&text(0, usage.completion_tokens));
        let (object, told) = match (self, head.endpoint) {
            (_, Endpoint::Completions) => ("text_completion", format!(r#""text":{content}"#)),
            (Self::Vllm, Endpoint::Chat) => (
                "chat.completion",
                format!(r#""message":{{"role":"assistant","content":{content}}}"#),
            ),
            (Self::Sglang, Endpoint::Chat) => (
                "chat.completion",
                format!(
                    r#""message":{{"role":"assistant","content":{content},"reasoning_content":null,"tool_calls":null}}"#
                ),
            ),
        };
        let end = match (self, head.endpoint) {
            (Self::Vllm, Endpoint::Completions) => {
                r#""stop_reason":null,"token_ids":null,"prompt_logprobs":null,"prompt_token_ids":null"#
            }
            (Self::Vllm, Endpoint::Chat) => r#""stop_reason":null,"token_ids":null"#,
            (Self::Sglang, _) => r#""matched_stop":null"#,
        };
        let service = match self {
            Self::Vllm => format!(
                r#","service_tier":null,"system_fingerprint":{}"#,
                quoted(&fingerprint())
            ),
            Self::Sglang => String::new(),
        };
        format!(
            r#"{},"choices":[{{"index":0,{told},"logprobs":null,"finish_reason":{LENGTH},{end}}}]{service},"usage":{}}}"#,
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
        let role = std::mem::take(&mut self.role);
        let text = text(first, first + count);
        let after = &self.after[usize::from(last)];
        format!("{role}{}{text}{after}", self.before)
    }

    /// What follows the last token.
    pub(super) fn tail(&self, usage: Usage, counts: bool) -> String {
        let mut events = self.finish.clone();
        if counts {
            let [before, behind] = &self.apart;
            let usage = self.dialect.usage(usage, self.tells_cached);
            events += &format!("{before}{usage}{behind}");
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
