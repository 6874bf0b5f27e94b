//! What replies are made of, whoever's words they take: an endpoint, a head, words without meaning, and a count.

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
    pub(super) prompt_tokens: u32,
    pub(super) completion_tokens: u32,
    /// Prompt tokens that came from the prefix cache.
    pub(super) cached_tokens: u32,
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
