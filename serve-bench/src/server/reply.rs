//! What replies are made of, whoever's words they take: an endpoint and words without meaning.

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
