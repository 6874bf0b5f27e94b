//! The look at one object of a reply: the quick one, and the full one for the shapes that it does not know.

use crate::chunk::Seen;
use crate::{scan, whole};

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Carries, Usage, look_fully, words};

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
