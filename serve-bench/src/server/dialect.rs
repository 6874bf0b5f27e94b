//! How serving engines word the same reply: what stands around the text, as a table, and streams and whole replies made of it.
//!
//! vLLM's shapes are those of its 0.32; SGLang's are after its source (0.5) and not after a server that ran.

use clap::ValueEnum;

use super::reply::{Endpoint, quoted, text};

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

/// What stands in every part of one reply, and decides how it is worded.
#[derive(Debug, Clone)]
pub(super) struct Head {
    pub(super) dialect: Dialect,
    pub(super) endpoint: Endpoint,
    /// `cmpl-` or `chatcmpl-` and a number.
    pub(super) id: String,
    /// Seconds since 1970.
    pub(super) created: u64,
    pub(super) model: String,
    pub(super) prompt_tokens: u32,
    /// Whether the count says how much of the prompt came from the prefix cache.
    pub(super) tells_cached: bool,
}

impl Head {
    fn words(&self) -> &'static Words {
        match (self.dialect, self.endpoint) {
            (Dialect::Vllm, Endpoint::Completions) => &VLLM_COMPLETIONS,
            (Dialect::Vllm, Endpoint::Chat) => &VLLM_CHAT,
            (Dialect::Sglang, Endpoint::Completions) => &SGLANG_COMPLETIONS,
            (Dialect::Sglang, Endpoint::Chat) => &SGLANG_CHAT,
        }
    }

    fn build(&self) -> &'static str {
        match self.dialect {
            Dialect::Vllm => BUILD,
            Dialect::Sglang => "",
        }
    }

    /// `"id":..,"object":..,"created":..,"model":..` as every part begins; a completion's object has one name.
    fn fields(&self, chat: &str) -> String {
        let object = match self.endpoint {
            Endpoint::Completions => "text_completion",
            Endpoint::Chat => chat,
        };
        let (id, created, model) = (quoted(&self.id), self.created, quoted(&self.model));
        format!(r#"{{"id":{id},"object":"{object}","created":{created},"model":{model}"#)
    }

    /// The count; vLLM's has no place for what it does not tell.
    fn usage(&self, output: u32, cached: u32) -> String {
        let details = match (self.tells_cached, self.dialect) {
            (true, _) => format!(r#","prompt_tokens_details":{{"cached_tokens":{cached}}}"#),
            (false, Dialect::Sglang) => r#","prompt_tokens_details":null"#.to_owned(),
            (false, Dialect::Vllm) => String::new(),
        };
        let (prompt, all) = (self.prompt_tokens, self.prompt_tokens + output);
        format!(
            r#"{{"prompt_tokens":{prompt},"total_tokens":{all},"completion_tokens":{output}{details}}}"#
        )
    }

    /// A reply that is not streamed, of so many tokens, with those of its prompt that came from the prefix cache.
    pub(super) fn whole(&self, output: u32, cached: u32) -> String {
        let [before, behind] = self.words().whole;
        let (head, text) = (self.fields("chat.completion"), text(0, output));
        let (build, usage) = (self.build(), self.usage(output, cached));
        format!(r#"{head}{CHOICE}{before}{text}{behind}{build},"usage":{usage}}}"#)
    }
}

/// The parts of one stream.
pub(super) struct Chunks {
    head: Head,
    /// A chunk up to its choices.
    begin: String,
    is_begun: bool,
}

impl Chunks {
    /// Those of a reply.
    pub(super) fn of(head: Head) -> Self {
        Self {
            begin: format!("data: {}", head.fields("chat.completion.chunk")),
            head,
            is_begun: false,
        }
    }

    fn event(&self, [before, text, after]: [&str; 3]) -> String {
        format!("{}{CHOICE}{before}{text}{after}\n\n", self.begin)
    }

    /// The events of tokens that come together: those from `first` on, so many, and whether the last one is among them.
    pub(super) fn tokens(&mut self, first: u32, count: u32, last: bool) -> String {
        let words = self.head.words();
        let text = text(first, first + count);
        let event = self.event([words.before, &text, words.after[usize::from(last)]]);
        match std::mem::replace(&mut self.is_begun, true) || words.role.is_empty() {
            true => event,
            false => self.event([words.role, "", ""]) + &event,
        }
    }

    /// What follows the last of so many tokens, with the count where it is told.
    pub(super) fn tail(&self, output: u32, cached: u32, counts: bool) -> String {
        let mut events = String::new();
        let finish = self.head.words().finish;
        if !finish.is_empty() {
            events += &self.event([finish, "", ""]);
        }
        if counts {
            let (begin, build) = (&self.begin, self.head.build());
            let usage = self.head.usage(output, cached);
            events += &format!("{begin},\"choices\":[],\"usage\":{usage}{build}}}\n\n");
        }
        events + DONE
    }
}
