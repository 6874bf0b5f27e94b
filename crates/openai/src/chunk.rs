//! What one JSON object of a reply carries: a token, the end, the server's count, an error.
//!
//! The rules are those that serving engines make necessary; each names the engine. They look at one object at a time and
//! know nothing of times.

use std::borrow::Cow;

/// Characters of a server's words that are kept.
const WORDS: usize = 240;

/// What an object of a reply says.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Seen<'a> {
    /// Whether tokens came with it.
    pub carries: Carries,
    /// Token ids that came with it; `None` where it has no list of them.
    pub token_ids: Option<u32>,
    /// Whether it has a finish reason.
    pub finished: bool,
    /// The server's count, where it came along; the last one counts.
    pub usage: Option<Usage>,
    /// The server's words, where it is an error.
    pub error: Option<String>,
    /// The model that it says it is of.
    pub model: Option<Cow<'a, str>>,
}

/// Whether tokens came with a chunk; of several choices the one that carries most counts.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Carries {
    /// None: a role, a count, progress.
    #[default]
    Nothing,
    /// Nothing but empty text and a finish reason: from vLLM the last token, from llama.cpp and transformers no token.
    EmptyFinish,
    /// At least one, also where its text is empty: vLLM sends such for half a UTF-8 character.
    Tokens,
}

impl Carries {
    /// Of a choice: whether text stands in it, whether empty text stands in it that does not open the reply with a role,
    /// whether it has a finish reason, and the token ids that it lists.
    pub(crate) fn of(filled: bool, empty: bool, finished: bool, token_ids: Option<u32>) -> Self {
        match (filled, token_ids) {
            (true, _) => Self::Tokens,
            (false, Some(count)) if count > 0 => Self::Tokens,
            (false, Some(_)) => Self::Nothing,
            (false, None) if !empty => Self::Nothing,
            (false, None) if finished => Self::EmptyFinish,
            (false, None) => Self::Tokens,
        }
    }
}

/// The server's count of tokens.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Usage {
    /// Tokens of the prompt.
    pub prompt_tokens: Option<u32>,
    /// Tokens of the reply.
    pub completion_tokens: Option<u32>,
    /// Prompt tokens that were not computed but taken from a cache.
    pub cached_tokens: Option<u32>,
}

/// A server's words on one line, cut to a length that fits a table.
#[must_use]
pub fn words(text: &str) -> String {
    // Not more than can be shown is looked at; a server may send megabytes.
    let line: String = text
        .split_whitespace()
        .flat_map(|word| [" ", word])
        .skip(1)
        .flat_map(str::chars)
        .map(|c| if c.is_control() { '\u{fffd}' } else { c })
        .take(WORDS + 1)
        .collect();
    match line.char_indices().nth(WORDS) {
        Some((end, _)) => format!("{}...", &line[..end]),
        None => line,
    }
}
