//! How serving engines word the same reply: what stands around the text, as a table, and streams and whole replies made of it.
//!
//! vLLM's shapes are those of its 0.32; SGLang's are after its source (0.5) and not after a server that ran.

use clap::ValueEnum;

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
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, strum::IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub(super) enum Dialect {
    /// vLLM: the finish reason with the last token, the count in a chunk of its own.
    Vllm,
    /// SGLang: a role chunk, empty members spelled out.
    Sglang,
}

/// A row for each choice of an engine at an endpoint: `token` and `last` in a stream, `whole` of a reply that is not streamed, and where
/// there are such, `role` before the first token and `finish` behind the last one.
const CHOICES: &str = include_str!("../../data/choices.tsv");

/// What stands around the text of a choice.
type Choice = [&'static str; 2];

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
    /// What stands around the text of this choice; `None` where there is none.
    fn choice(&self, part: &str) -> Option<Choice> {
        let (dialect, endpoint): (&str, &str) = (self.dialect.into(), self.endpoint.into());
        let begin = format!("{dialect}\t{endpoint}\t{part}\t");
        let choice = CHOICES.lines().find_map(|row| row.strip_prefix(&begin))?;
        let (before, behind) = choice.split_once("{text}").unwrap_or((choice, ""));
        Some([before, behind])
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
        let [before, behind] = self.choice("whole").unwrap_or_default();
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
    /// The choice before the first token, until that has come.
    role: Option<Choice>,
    /// That of a token, and of the last one.
    tokens: [Choice; 2],
}

impl Chunks {
    /// Those of a reply.
    pub(super) fn of(head: Head) -> Self {
        Self {
            begin: format!("data: {}", head.fields("chat.completion.chunk")),
            role: head.choice("role"),
            tokens: ["token", "last"].map(|part| head.choice(part).unwrap_or_default()),
            head,
        }
    }

    fn event(&self, [before, after]: Choice, text: &str) -> String {
        format!("{}{CHOICE}{before}{text}{after}\n\n", self.begin)
    }

    /// The events of tokens that come together: those from `first` on, so many, and whether the last one is among them.
    pub(super) fn tokens(&mut self, first: u32, count: u32, last: bool) -> String {
        let role = self.role.take().map(|role| self.event(role, ""));
        let text = text(first, first + count);
        role.unwrap_or_default() + &self.event(self.tokens[usize::from(last)], &text)
    }

    /// What follows the last of so many tokens, with the count where it is told.
    pub(super) fn tail(&self, output: u32, cached: u32, counts: bool) -> String {
        let finish = self.head.choice("finish");
        let finish = finish.map(|finish| self.event(finish, ""));
        let mut events = finish.unwrap_or_default();
        if counts {
            let (begin, build) = (&self.begin, self.head.build());
            let usage = self.head.usage(output, cached);
            events += &format!("{begin},\"choices\":[],\"usage\":{usage}{build}}}\n\n");
        }
        events + DONE
    }
}

/// The words of replies, all ASCII. Each token is one word.
const WORDS: [&str; 16] = [
    "a", "be", "can", "do", "far", "go", "her", "if", "let", "may", "new", "of", "put", "so",
    "the", "we",
];

/// Which of the two endpoints.
#[derive(Debug, Clone, Copy, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub(super) enum Endpoint {
    /// `/v1/completions`.
    Completions,
    /// `/v1/chat/completions`.
    Chat,
}

/// The text of the tokens from one number to before another; each but the first has a space in front.
pub(super) fn text(first: u32, end: u32) -> String {
    // 7 and 16 have no common factor, so all words come round.
    let word = |number: u32| WORDS[(number as usize * 7) % WORDS.len()];
    let spaced = |number| [if number == 0 { "" } else { " " }, word(number)];
    (first..end).flat_map(spaced).collect()
}

/// A string as JSON, quotes included.
pub(super) fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
