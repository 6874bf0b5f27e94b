//! What one JSON object of a reply carries: a token, the end, the server's count, an error.
//!
//! The rules are those that serving engines make necessary; each names the engine. They look at one object at a time and
//! know nothing of times.

use std::borrow::Cow;

use crate::{scan, whole};

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

/// Looks at one object: at the shapes that engines send in a single pass that allocates nothing, at all others fully.
///
/// # Errors
/// It is not JSON, or not an object of the OpenAI kind.
pub fn look(data: &[u8]) -> Result<Seen<'_>, serde_json::Error> {
    match scan::look(data) {
        Some(seen) => Ok(seen),
        None => whole::look_fully(data),
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::look_fully;

    /// What is seen, where the quick look and the full one agree.
    #[track_caller]
    fn seen(data: &str) -> Seen<'_> {
        let full = look_fully(data.as_bytes()).unwrap();
        assert_eq!(look(data.as_bytes()).unwrap(), full, "{data}");
        full
    }

    fn chat(delta: &str) -> String {
        format!(r#"{{"choices":[{{"delta":{delta},"finish_reason":null}}]}}"#)
    }

    #[test]
    fn tokens_are_told_from_what_only_looks_like_one() {
        use Carries::{EmptyFinish, Nothing, Tokens};
        for (data, expected) in [
            (chat(r#"{"role":"assistant","content":""}"#), Nothing),
            (chat(r#"{"role":"assistant","content":null}"#), Nothing),
            (chat(r#"{"role":"assistant"}"#), Nothing),
            // A server that repeats the role with every token.
            (chat(r#"{"role":"assistant","content":"a"}"#), Tokens),
            (chat(r#"{"content":"a"}"#), Tokens),
            (chat(r#"{"content":"\n"}"#), Tokens),
            (chat(r#"{"content":""}"#), Tokens),
            (chat(r#"{"reasoning":"a"}"#), Tokens),
            (chat(r#"{"reasoning_content":"a","content":null}"#), Tokens),
            (chat(r#"{"tool_calls":[{"index":0}]}"#), Tokens),
            (chat(r#"{"function_call":{"name":"f"}}"#), Tokens),
            (chat(r#"{"tool_calls":[]}"#), Nothing),
            (chat("{}"), Nothing),
            (
                r#"{"choices":[{"text":"a","finish_reason":null}]}"#.to_owned(),
                Tokens,
            ),
            (
                r#"{"choices":[{"text":"","finish_reason":null}]}"#.to_owned(),
                Tokens,
            ),
            (
                r#"{"choices":[{"text":"a","finish_reason":"length"}]}"#.to_owned(),
                Tokens,
            ),
            (
                r#"{"choices":[{"text":"","finish_reason":"length"}]}"#.to_owned(),
                EmptyFinish,
            ),
            (
                r#"{"choices":[{"delta":{"content":""},"finish_reason":"stop"}]}"#.to_owned(),
                EmptyFinish,
            ),
            (
                r#"{"choices":[{"delta":{},"finish_reason":"stop"}]}"#.to_owned(),
                Nothing,
            ),
            (
                r#"{"choices":[],"usage":{"completion_tokens":3}}"#.to_owned(),
                Nothing,
            ),
        ] {
            assert_eq!(seen(&data).carries, expected, "{data}");
        }
    }

    #[test]
    fn of_several_choices_the_one_that_carries_most_counts() {
        let both = r#"{"choices":[{"index":0,"delta":{},"finish_reason":"stop","token_ids":[]},{"index":1,"delta":{"content":"a"},"token_ids":[5,6]}]}"#;
        let seen = seen(both);
        assert_eq!(
            (seen.carries, seen.finished, seen.token_ids),
            (Carries::Tokens, true, Some(2))
        );
    }

    #[test]
    fn token_ids_say_whether_an_empty_text_is_a_token() {
        let chunk = |ids: &str| {
            format!(r#"{{"choices":[{{"text":"","finish_reason":"length","token_ids":{ids}}}]}}"#)
        };
        for (ids, carries, count) in [
            ("[7]", Carries::Tokens, Some(1)),
            ("[7, 8,9]", Carries::Tokens, Some(3)),
            ("[]", Carries::Nothing, Some(0)),
            ("null", Carries::EmptyFinish, None),
        ] {
            let chunk = chunk(ids);
            let seen = seen(&chunk);
            assert_eq!((seen.carries, seen.token_ids), (carries, count), "{chunk}");
        }
    }

    #[test]
    fn a_count_inside_a_chunk_with_choices_is_seen() {
        let seen = seen(
            r#"{"choices":[{"text":"","finish_reason":"length"}],"usage":{"prompt_tokens":2,"completion_tokens":3,"prompt_tokens_details":{"cached_tokens":1}}}"#,
        );
        let usage = Usage {
            prompt_tokens: Some(2),
            completion_tokens: Some(3),
            cached_tokens: Some(1),
        };
        assert_eq!((seen.usage, seen.finished), (Some(usage), true));
    }

    #[test]
    fn errors_of_both_shapes_give_their_words() {
        for (data, expected) in [
            (
                r#"{"error":{"message":"engine\n dead","code":500}}"#,
                "engine dead",
            ),
            (r#"{"error":"out of memory"}"#, "out of memory"),
            (
                r#"{"object":"error","message":"no such model"}"#,
                "no such model",
            ),
            (r#"{"error":{"code":7}}"#, r#"{"code":7}"#),
        ] {
            assert_eq!(seen(data).error.as_deref(), Some(expected));
        }
        assert_eq!(seen(r#"{"error":null,"choices":[]}"#).error, None);
        assert!(look(b"<html>").is_err());
    }

    #[test]
    fn words_are_one_short_line_without_control_characters() {
        assert_eq!(words(" a\n\tb \u{1b}[1m"), "a b \u{fffd}[1m");
        // 240 characters, then three dots.
        assert_eq!(words(&"x".repeat(300)).len(), 243);
    }
}
