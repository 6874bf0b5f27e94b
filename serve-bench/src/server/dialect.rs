//! How serving engines word the same reply: what stands around the text, as a table, and streams and whole replies made of it.
//!
//! vLLM's shapes are those of its 0.32; SGLang's are after its source (0.5) and not after a server that ran.

use clap::ValueEnum;

use super::reply::{Endpoint, Head, Usage, quoted, text};

/// The event that ends a stream.
pub(super) const DONE: &str = "data: [DONE]\n\n";

/// How every chunk with a choice goes on behind its head.
const CHOICE: &str = r#","choices":[{"index":0,"#;

/// What this server calls itself where vLLM gives its version and build.
const BUILD: &str = concat!(
    r#","system_fingerprint":"tplens-soft-"#,
    env!("CARGO_PKG_VERSION"),
    "\""
);

/// An engine whose way of answering is spoken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Dialect {
    /// vLLM: the finish reason with the last token, the count in a chunk of its own.
    Vllm,
    /// SGLang: a role chunk, empty members spelled out.
    Sglang,
}

/// What stands around the text of a choice at one endpoint.
struct Words {
    /// The choice of a chunk before the first token; empty where there is none.
    role: &'static str,
    /// A choice up to its text.
    before: &'static str,
    /// From behind the text of a token on, and of the last one.
    after: [&'static str; 2],
    /// The choice of a chunk of its own behind the last token; empty where there is none.
    finish: &'static str,
    /// What stands around the text of a whole reply.
    whole: [&'static str; 2],
}

const VLLM_COMPLETIONS: Words = Words {
    role: "",
    before: r#""text":""#,
    after: [
        r#"","logprobs":null,"finish_reason":null,"stop_reason":null,"prompt_token_ids":null,"token_ids":null}]}"#,
        r#"","logprobs":null,"finish_reason":"length","stop_reason":null,"prompt_token_ids":null,"token_ids":null}]}"#,
    ],
    finish: "",
    whole: [
        r#""text":""#,
        r#"","logprobs":null,"finish_reason":"length","stop_reason":null,"token_ids":null,"prompt_logprobs":null,"prompt_token_ids":null}],"service_tier":null"#,
    ],
};

const VLLM_CHAT: Words = Words {
    role: r#""delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null}],"prompt_token_ids":null,"prompt_text":null}"#,
    before: r#""delta":{"content":""#,
    after: [
        r#""},"logprobs":null,"finish_reason":null,"token_ids":null}]}"#,
        r#""},"logprobs":null,"finish_reason":"length","stop_reason":null,"token_ids":null}]}"#,
    ],
    finish: "",
    whole: [
        r#""message":{"role":"assistant","content":""#,
        r#""},"logprobs":null,"finish_reason":"length","stop_reason":null,"token_ids":null}],"service_tier":null"#,
    ],
};

const SGLANG_COMPLETIONS: Words = Words {
    role: "",
    before: r#""text":""#,
    after: [
        r#"","logprobs":null,"finish_reason":null,"matched_stop":null}],"usage":null}"#,
        r#"","logprobs":null,"finish_reason":"length","matched_stop":null}],"usage":null}"#,
    ],
    finish: "",
    whole: [
        r#""text":""#,
        r#"","logprobs":null,"finish_reason":"length","matched_stop":null}]"#,
    ],
};

const SGLANG_CHAT: Words = Words {
    role: r#""delta":{"role":"assistant","content":"","reasoning_content":null,"tool_calls":null},"logprobs":null,"finish_reason":null,"matched_stop":null}],"usage":null}"#,
    before: r#""delta":{"role":null,"content":""#,
    after: [r#"","reasoning_content":null,"tool_calls":null},"logprobs":null,"finish_reason":null,"matched_stop":null}],"usage":null}"#;
        2],
    finish: r#""delta":{"role":null,"content":null,"reasoning_content":null,"tool_calls":null},"logprobs":null,"finish_reason":"length","matched_stop":null}],"usage":null}"#,
    whole: [
        r#""message":{"role":"assistant","content":""#,
        r#"","reasoning_content":null,"tool_calls":null},"logprobs":null,"finish_reason":"length","matched_stop":null}]"#,
    ],
};

/// The parts of one stream.
pub(super) struct Chunks {
    words: &'static Words,
    /// A chunk up to its choices.
    head: String,
    is_begun: bool,
    dialect: Dialect,
    tells_cached: bool,
}

impl Dialect {
    fn words(self, endpoint: Endpoint) -> &'static Words {
        match (self, endpoint) {
            (Self::Vllm, Endpoint::Completions) => &VLLM_COMPLETIONS,
            (Self::Vllm, Endpoint::Chat) => &VLLM_CHAT,
            (Self::Sglang, Endpoint::Completions) => &SGLANG_COMPLETIONS,
            (Self::Sglang, Endpoint::Chat) => &SGLANG_CHAT,
        }
    }

    fn build(self) -> &'static str {
        match self {
            Self::Vllm => BUILD,
            Self::Sglang => "",
        }
    }

    /// The chunks of one stream.
    pub(super) fn chunks(self, head: &Head, tells_cached: bool) -> Chunks {
        Chunks {
            words: self.words(head.endpoint),
            head: format!("data: {}", fields(head, "chat.completion.chunk")),
            is_begun: false,
            dialect: self,
            tells_cached,
        }
    }

    /// A reply that is not streamed.
    pub(super) fn whole(self, head: &Head, usage: Usage, tells_cached: bool) -> String {
        let [before, behind] = self.words(head.endpoint).whole;
        let text = text(0, usage.completion_tokens);
        let usage = self.usage(usage, tells_cached);
        let (head, build) = (fields(head, "chat.completion"), self.build());
        format!(r#"{head}{CHOICE}{before}{text}{behind}{build},"usage":{usage}}}"#)
    }

    /// The count; vLLM's has no place for what it does not tell.
    fn usage(self, usage: Usage, tells_cached: bool) -> String {
        let (prompt, output) = (usage.prompt_tokens, usage.completion_tokens);
        let cached = usage.cached_tokens;
        let details = match (tells_cached, self) {
            (true, _) => format!(r#","prompt_tokens_details":{{"cached_tokens":{cached}}}"#),
            (false, Self::Sglang) => r#","prompt_tokens_details":null"#.to_owned(),
            (false, Self::Vllm) => String::new(),
        };
        let all = prompt + output;
        format!(
            r#"{{"prompt_tokens":{prompt},"total_tokens":{all},"completion_tokens":{output}{details}}}"#
        )
    }
}

impl Chunks {
    fn event(&self, [before, text, after]: [&str; 3]) -> String {
        format!("{}{CHOICE}{before}{text}{after}\n\n", self.head)
    }

    /// The events of tokens that come together: those from `first` on, so many, and whether the last one is among them.
    pub(super) fn tokens(&mut self, first: u32, count: u32, last: bool) -> String {
        let words = self.words;
        let text = text(first, first + count);
        let event = self.event([words.before, &text, words.after[usize::from(last)]]);
        match std::mem::replace(&mut self.is_begun, true) || words.role.is_empty() {
            true => event,
            false => self.event([words.role, "", ""]) + &event,
        }
    }

    /// What follows the last token.
    pub(super) fn tail(&self, usage: Usage, counts: bool) -> String {
        let mut events = String::new();
        if !self.words.finish.is_empty() {
            events += &self.event([self.words.finish, "", ""]);
        }
        if counts {
            let usage = self.dialect.usage(usage, self.tells_cached);
            let (head, build) = (&self.head, self.dialect.build());
            events += &format!("{head},\"choices\":[],\"usage\":{usage}{build}}}\n\n");
        }
        events + DONE
    }
}

/// `"id":..,"object":..,"created":..,"model":..` as every part begins; a completion's object has one name.
fn fields(head: &Head, chat: &str) -> String {
    let object = match head.endpoint {
        Endpoint::Completions => "text_completion",
        Endpoint::Chat => chat,
    };
    let (id, created, model) = (quoted(&head.id), head.created, quoted(&head.model));
    format!(r#"{{"id":{id},"object":"{object}","created":{created},"model":{model}"#)
}
