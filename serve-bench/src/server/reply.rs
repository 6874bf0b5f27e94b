//! The text of replies: words without meaning, and the JSON around them in vLLM's order of keys.
//!
//! The shapes are those of vLLM 0.32's streams and replies. What varies within a stream is one word and one finish reason,
//! so the rest of a chunk is rendered once for each request.

/// The words of replies, all ASCII. Each token is one word.
const WORDS: [&str; 16] = [
    "a", "be", "can", "do", "far", "go", "her", "if", "let", "may", "new", "of", "put", "so",
    "the", "we",
];

/// Which of the two endpoints.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Endpoint {
    /// `/v1/completions`.
    Completions,
    /// `/v1/chat/completions`.
    Chat,
}

/// What stands in every part of one reply.
#[derive(Debug, Clone)]
pub(super) struct Head {
    pub(super) endpoint: Endpoint,
    /// `cmpl-` or `chatcmpl-` and a number.
    pub(super) id: String,
    /// Seconds since 1970.
    pub(super) created: u64,
    pub(super) model: String,
}

/// Token counts of one reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Usage {
    prompt_tokens: u32,
    total_tokens: u32,
    completion_tokens: u32,
}

impl Usage {
    /// Prompt, output and their sum.
    pub(super) fn new(prompt_tokens: u32, completion_tokens: u32) -> Self {
        Self {
            prompt_tokens,
            total_tokens: prompt_tokens + completion_tokens,
            completion_tokens,
        }
    }
}

/// What this server calls itself where vLLM gives its version and build.
pub(super) fn fingerprint() -> String {
    format!("tplens-soft-{}", env!("CARGO_PKG_VERSION"))
}

/// The token of this number in a reply, with a space in front where it is not the first.
pub(super) fn word(number: u32) -> (&'static str, &'static str) {
    // 7 and 16 have no common factor, so all words come round.
    let word = WORDS[(number as usize * 7) % WORDS.len()];
    (if number == 0 { "" } else { " " }, word)
}

/// A string as JSON, quotes included.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

impl Head {
    /// `"id":..,"object":..,"created":..,"model":..` as every part begins.
    fn fields(&self, object: &str) -> String {
        format!(
            r#"{{"id":{},"object":"{object}","created":{},"model":{}"#,
            quoted(&self.id),
            self.created,
            quoted(&self.model)
        )
    }

    /// The chunks of a stream.
    pub(super) fn chunks(&self) -> Chunks {
        match self.endpoint {
            Endpoint::Completions => {
                let fields = self.fields("text_completion");
                Chunks {
                    role: None,
                    before: format!(r#"data: {fields},"choices":[{{"index":0,"text":""#),
                    between: r#"","logprobs":null,"finish_reason":"#,
                    after: r#"null,"stop_reason":null,"prompt_token_ids":null,"token_ids":null}]}"#,
                    after_last: r#""length","stop_reason":null,"prompt_token_ids":null,"token_ids":null}]}"#,
                    fields,
                }
            }
            Endpoint::Chat => {
                let fields = self.fields("chat.completion.chunk");
                Chunks {
                    role: Some(format!(
                        concat!(
                            r#"data: {},"choices":[{{"index":0,"delta":{{"role":"assistant","content":""}},"logprobs":null,"finish_reason":null}}],"#,
                            r#""prompt_token_ids":null,"prompt_text":null}}"#,
                            "\n\n"
                        ),
                        fields
                    )),
                    before: format!(
                        r#"data: {fields},"choices":[{{"index":0,"delta":{{"content":""#
                    ),
                    between: r#""},"logprobs":null,"finish_reason":"#,
                    after: r#"null,"token_ids":null}]}"#,
                    after_last: r#""length","stop_reason":null,"token_ids":null}]}"#,
                    fields,
                }
            }
        }
    }

    /// The whole of a reply that is not streamed.
    pub(super) fn whole(&self, usage: Usage) -> String {
        let text: String = (0..usage.completion_tokens)
            .map(|number| {
                let (space, word) = word(number);
                format!("{space}{word}")
            })
            .collect();
        let (object, choice) = match self.endpoint {
            Endpoint::Completions => (
                "text_completion",
                format!(
                    r#"{{"index":0,"text":"{text}","logprobs":null,"finish_reason":"length","stop_reason":null,"token_ids":null,"prompt_logprobs":null,"prompt_token_ids":null}}"#
                ),
            ),
            Endpoint::Chat => (
                "chat.completion",
                format!(
                    r#"{{"index":0,"message":{{"role":"assistant","content":"{text}"}},"logprobs":null,"finish_reason":"length","stop_reason":null,"token_ids":null}}"#
                ),
            ),
        };
        format!(
            r#"{},"choices":[{choice}],"service_tier":null,"system_fingerprint":{},"usage":{}}}"#,
            self.fields(object),
            quoted(&fingerprint()),
            usage.json()
        )
    }
}

impl Usage {
    fn json(self) -> String {
        format!(
            r#"{{"prompt_tokens":{},"total_tokens":{},"completion_tokens":{}}}"#,
            self.prompt_tokens, self.total_tokens, self.completion_tokens
        )
    }
}

/// The parts of one stream's chunks.
#[derive(Debug)]
pub(super) struct Chunks {
    /// What comes before the first token of a chat reply.
    role: Option<String>,
    before: String,
    between: &'static str,
    after: &'static str,
    after_last: &'static str,
    fields: String,
}

impl Chunks {
    /// The events of one token: in a chat the first one comes with the role.
    pub(super) fn token(&mut self, number: u32, last: bool) -> String {
        let (space, word) = word(number);
        let after = if last { self.after_last } else { self.after };
        let mut events = self.role.take().unwrap_or_default();
        for part in [&*self.before, space, word, self.between, after, "\n\n"] {
            events.push_str(part);
        }
        events
    }

    /// The event of `stream_options.include_usage`.
    pub(super) fn usage(&self, usage: Usage) -> String {
        format!(
            "data: {},\"choices\":[],\"usage\":{},\"system_fingerprint\":{}}}\n\n",
            self.fields,
            usage.json(),
            quoted(&fingerprint())
        )
    }
}

/// The event that ends every stream.
pub(super) const DONE: &str = "data: [DONE]\n\n";
