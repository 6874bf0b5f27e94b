//! The parts of one stream's events, made once for a request, and what is told at its end.
//!
//! What varies within a stream is text, token ids and the last chunk's finish reason; all else is fixed text around them.

use crate::server::reply::{Usage, word};

/// A chunk with room for text and token ids.
#[derive(Debug, Clone)]
pub(super) struct Template {
    /// Up to the text, from `data:` on.
    before: String,
    /// From the text on, up to the ids where there are any.
    between: String,
    /// From the ids on.
    after: String,
}

impl Template {
    pub(super) fn new(before: String, between: &str, after: &str) -> Self {
        Self {
            before,
            between: between.to_owned(),
            after: after.to_owned(),
        }
    }
}

/// The chunk of a token, and that of the last one where it says that it is.
#[derive(Debug, Clone)]
pub(super) struct Pair {
    pub(super) amid: Template,
    pub(super) last: Template,
}

impl Pair {
    /// A chunk that is the same to the end.
    pub(super) fn same(template: Template) -> Self {
        Self {
            last: template.clone(),
            amid: template,
        }
    }
}

/// How token ids stand in a chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ids {
    /// There is no place for them.
    NoPlace,
    /// `null` stands there.
    Null,
    /// They do.
    Listed,
}

/// Where the count of tokens stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Counted {
    /// In a chunk without choices, where the request asked for it.
    Apart,
    /// In the finish chunk, asked for or not.
    InFinish,
}

/// The parts of one stream.
#[derive(Debug, Clone)]
pub(in crate::server) struct Chunks {
    /// What comes before the first token of a chat reply.
    pub(super) role: Option<String>,
    pub(super) content: Pair,
    /// The chunk of a token of reasoning; `None` where the endpoint has none.
    pub(super) reasoning: Option<Pair>,
    pub(super) reasoning_tokens: u32,
    pub(super) ids: Ids,
    /// A finish chunk after the last token, an object without its closing brace.
    pub(super) finish: Option<String>,
    pub(super) counted: Counted,
    /// The chunk without choices, an object without its closing brace.
    pub(super) apart: String,
    /// What stands behind its count.
    pub(super) behind_usage: String,
    /// How the count is written.
    pub(super) usage: fn(Usage) -> String,
    /// Whether llama.cpp's timings come along.
    pub(super) timings: bool,
    /// Whether `[DONE]` ends the stream.
    pub(super) done: bool,
}

/// What a stream's end tells.
#[derive(Debug, Clone, Copy)]
pub(in crate::server) struct Tally {
    pub(in crate::server) usage: Usage,
    pub(in crate::server) timings: Timings,
}

/// What llama.cpp tells of a reply's times.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(in crate::server) struct Timings {
    /// From leaving the queue to the first token, ms.
    pub(in crate::server) prompt_ms: f64,
    /// From the first token to the last, ms.
    pub(in crate::server) predicted_ms: f64,
}

/// A reply that is not streamed.
#[derive(Debug, Clone)]
pub(in crate::server) struct Told {
    /// The text.
    pub(in crate::server) content: String,
    /// What was thought before it.
    pub(in crate::server) reasoning: Option<String>,
    /// Ids of all tokens, where they are to be listed.
    pub(in crate::server) ids: Option<Vec<u32>>,
    pub(in crate::server) tally: Tally,
    /// Whether the count tells how much of the prompt was cached.
    pub(in crate::server) tells_cached: bool,
}

/// The event that ends every stream but those of transformers.
const DONE: &str = "data: [DONE]\n\n";

impl Chunks {
    /// The event of the role, once; `None` where there is none any more.
    pub(in crate::server) fn role(&mut self) -> Option<String> {
        self.role.take()
    }

    /// The events of tokens that come together: those from `first` on, so many, and whether the last one is among them.
    pub(in crate::server) fn tokens(&mut self, first: u32, count: u32, last: bool) -> String {
        let mut events = self.role().unwrap_or_default();
        let end = first + count;
        // Reasoning and text never stand in one chunk.
        let thinking = self.reasoning_tokens.clamp(first, end);
        if let (Some(pair), true) = (&self.reasoning, thinking > first) {
            self.write(&mut events, pair, first, thinking, last && thinking == end);
        }
        let from = if self.reasoning.is_some() {
            thinking
        } else {
            first
        };
        if from < end {
            self.write(&mut events, &self.content, from, end, last);
        }
        events
    }

    fn write(&self, events: &mut String, pair: &Pair, first: u32, end: u32, last: bool) {
        let template = if last { &pair.last } else { &pair.amid };
        events.push_str(&template.before);
        for number in first..end {
            let (space, word) = word(number);
            events.push_str(space);
            events.push_str(word);
        }
        events.push_str(&template.between);
        match self.ids {
            Ids::NoPlace => {}
            Ids::Null => events.push_str("null"),
            Ids::Listed => events.push_str(&list(&(first..end).collect::<Vec<u32>>())),
        }
        events.push_str(&template.after);
        events.push_str("\n\n");
    }

    /// What follows the last token.
    pub(in crate::server) fn tail(&self, tally: Tally, counts: bool) -> String {
        let usage = || format!(",\"usage\":{}", (self.usage)(tally.usage));
        let timings = || {
            if self.timings {
                format!(",\"timings\":{}", tally.timings_json())
            } else {
                String::new()
            }
        };
        let apart = counts && self.counted == Counted::Apart;
        let mut events = String::new();
        if let Some(finish) = &self.finish {
            events.push_str(finish);
            if self.counted == Counted::InFinish {
                events.push_str(&usage());
            }
            if !apart {
                events.push_str(&timings());
            }
            events.push_str("}\n\n");
        }
        if apart {
            events.push_str(&self.apart);
            events.push_str(&usage());
            events.push_str(&self.behind_usage);
            events.push_str(&timings());
            events.push_str("}\n\n");
        }
        events.push_str(self.end());
        events
    }

    /// The mark of the end; empty where there is none.
    pub(in crate::server) fn end(&self) -> &'static str {
        if self.done { DONE } else { "" }
    }
}

impl Tally {
    /// llama.cpp's `timings`.
    pub(super) fn timings_json(&self) -> String {
        let Usage {
            prompt_tokens,
            completion_tokens,
            cached_tokens,
        } = self.usage;
        let computed = prompt_tokens - cached_tokens;
        let Timings {
            prompt_ms,
            predicted_ms,
        } = self.timings;
        let rates = |name: &str, count: u32, ms: f64| {
            let count = f64::from(count);
            format!(
                r#""{name}_ms":{ms:?},"{name}_per_token_ms":{:?},"{name}_per_second":{:?}"#,
                rate(ms, count),
                rate(count * 1e3, ms)
            )
        };
        format!(
            r#"{{"cache_n":{cached_tokens},"prompt_n":{computed},{},"predicted_n":{completion_tokens},{}}}"#,
            rates("prompt", computed, prompt_ms),
            rates("predicted", completion_tokens, predicted_ms)
        )
    }
}

/// A quotient as llama.cpp shows it: 0 where there is nothing to divide by.
fn rate(of: f64, by: f64) -> f64 {
    if by > 0.0 { of / by } else { 0.0 }
}

/// Ids as a JSON array. A token's id is its number in the reply: whoever counts them needs no more.
pub(super) fn list(ids: &[u32]) -> String {
    let ids: Vec<String> = ids.iter().map(u32::to_string).collect();
    format!("[{}]", ids.join(","))
}
