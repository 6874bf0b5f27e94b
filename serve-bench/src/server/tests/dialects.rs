//! Bytes of other engines' streams against shapes written by hand: keys and their order are those of captured streams (llama.cpp,
//! transformers) or of the source (SGLang), retyped.

use super::client::{ask, timeless};
use super::running::{Running, setup};
use crate::server::dialect::{Dialect, Wording};
use crate::server::setup::Speaking;

const CHAT: &str = "/v1/chat/completions";
const TEXT: &str = "/v1/completions";

/// The data of the events of a reply of two tokens to a prompt of two, with the version taken out of the fingerprint.
fn events(dialect: Dialect, wording: Wording, path: &str) -> Vec<String> {
    let mut setup = setup(100.0);
    setup.speaking = Speaking {
        dialect,
        wording,
        tokens_per_chunk: 1,
        ..Speaking::default()
    };
    let server = Running::of(setup);
    let prompt = match path {
        CHAT => r#""messages":[{"role":"user","content":"a b"}]"#,
        _ => r#""prompt":"a b""#,
    };
    let body = format!(
        r#"{{{prompt},"max_tokens":2,"stream":true,"stream_options":{{"include_usage":true}}}}"#
    );
    let (head, body) = ask(server.address, "POST", path, &body);
    assert_eq!(head.status, 200);
    let body = timeless(&body).replace(env!("CARGO_PKG_VERSION"), "V");
    let events = body.strip_suffix("\n\n").unwrap().split("\n\n");
    events
        .map(|event| event.strip_prefix("data: ").unwrap().to_owned())
        .collect()
}

/// An object whose `timings` say what they say.
fn without_timings(event: &str) -> (&str, bool) {
    match event.split_once(r#","timings":{"cache_n":0,"prompt_n":2,"prompt_ms":"#) {
        Some((before, rest)) => (before, rest.contains(r#""predicted_n":2,"predicted_ms":"#)),
        None => (event, false),
    }
}

#[test]
fn llama_cpp_finishes_apart_and_tells_its_times() {
    let of_chat = |delta: &str, reason: &str| {
        format!(
            r#"{{"choices":[{{"finish_reason":{reason},"index":0,"delta":{delta}}}],"created":0,"id":"chatcmpl-0000000000000000","model":"tiny","system_fingerprint":"tplens-soft-V","object":"chat.completion.chunk"}}"#
        )
    };
    let chat = events(Dialect::LlamaCpp, Wording::default(), CHAT);
    assert_eq!(
        chat[..4],
        [
            of_chat(r#"{"role":"assistant","content":null}"#, "null"),
            of_chat(r#"{"content":"a"}"#, "null"),
            of_chat(r#"{"content":" if"}"#, "null"),
            of_chat("{}", r#""length""#),
        ]
    );
    let (usage, has_timings) = without_timings(&chat[4]);
    assert_eq!(
        usage,
        r#"{"choices":[],"created":0,"id":"chatcmpl-0000000000000000","model":"tiny","system_fingerprint":"tplens-soft-V","object":"chat.completion.chunk","usage":{"completion_tokens":2,"prompt_tokens":2,"total_tokens":4,"prompt_tokens_details":{"cached_tokens":0}}"#
    );
    assert!(has_timings, "{}", chat[4]);
    assert_eq!(chat[5..], ["[DONE]"]);

    let text = events(Dialect::LlamaCpp, Wording::default(), TEXT);
    assert_eq!(
        text[1],
        r#"{"choices":[{"text":" if","index":0,"logprobs":null,"finish_reason":null}],"created":0,"model":"tiny","system_fingerprint":"tplens-soft-V","object":"text_completion","id":"cmpl-0000000000000000"}"#
    );
    let (last, has_timings) = without_timings(&text[2]);
    // The count stands in the finish chunk, whose text is no token.
    assert_eq!(
        last,
        r#"{"choices":[{"text":"","index":0,"logprobs":null,"finish_reason":"length"}],"created":0,"model":"tiny","system_fingerprint":"tplens-soft-V","object":"text_completion","id":"cmpl-0000000000000000","usage":{"completion_tokens":2,"prompt_tokens":2,"total_tokens":4,"prompt_tokens_details":{"cached_tokens":0}}"#
    );
    assert!(has_timings, "{}", text[2]);
    assert_eq!(text[3..], ["[DONE]"]);
}

#[test]
fn transformers_counts_in_its_last_chunk_and_says_no_done() {
    let of_chat = |choice: &str| {
        format!(
            r#"{{"id":"chatcmpl-0000000000000000","choices":[{choice}],"created":0,"model":"tiny","object":"chat.completion.chunk","system_fingerprint":"""#
        )
    };
    let usage = r#","usage":{"completion_tokens":2,"prompt_tokens":2,"total_tokens":4}}"#;
    assert_eq!(
        events(Dialect::Transformers, Wording::default(), CHAT),
        [
            of_chat(r#"{"delta":{"role":"assistant"},"index":0}"#) + "}",
            of_chat(r#"{"delta":{"content":"a"},"index":0}"#) + "}",
            of_chat(r#"{"delta":{"content":" if"},"index":0}"#) + "}",
            of_chat(r#"{"delta":{},"index":0,"finish_reason":"length"}"#) + usage,
        ]
    );
    let of_text = |choice: &str| {
        format!(
            r#"{{"id":"cmpl-0000000000000000","choices":[{choice}],"created":0,"model":"tiny","object":"text_completion""#
        )
    };
    assert_eq!(
        events(Dialect::Transformers, Wording::default(), TEXT),
        [
            of_text(r#"{"index":0,"text":"a"}"#) + "}",
            of_text(r#"{"index":0,"text":" if"}"#) + "}",
            of_text(r#"{"finish_reason":"length","index":0,"text":""}"#) + usage,
        ]
    );
}

#[test]
fn sglang_spells_out_what_is_empty() {
    let of = |delta: &str, reason: &str| {
        format!(
            r#"{{"id":"chatcmpl-0000000000000000","object":"chat.completion.chunk","created":0,"model":"tiny","choices":[{{"index":0,"delta":{delta},"logprobs":null,"finish_reason":{reason},"matched_stop":null}}],"usage":null}}"#
        )
    };
    let wording = Wording {
        reasoning_tokens: 1,
        ..Wording::default()
    };
    let found = events(Dialect::Sglang, wording, CHAT);
    assert_eq!(
        found,
        [
            of(
                r#"{"role":"assistant","content":"","reasoning_content":null,"tool_calls":null}"#,
                "null"
            ),
            of(
                r#"{"role":null,"content":null,"reasoning_content":"a","tool_calls":null}"#,
                "null"
            ),
            of(
                r#"{"role":null,"content":" if","reasoning_content":null,"tool_calls":null}"#,
                "null"
            ),
            of(
                r#"{"role":null,"content":null,"reasoning_content":null,"tool_calls":null}"#,
                r#""length""#
            ),
            r#"{"id":"chatcmpl-0000000000000000","object":"chat.completion.chunk","created":0,"model":"tiny","choices":[],"usage":{"prompt_tokens":2,"total_tokens":4,"completion_tokens":2,"prompt_tokens_details":null}}"#.to_owned(),
            "[DONE]".to_owned(),
        ]
    );
}

#[test]
fn vllm_lists_ids_where_it_is_told_to() {
    let wording = Wording {
        token_ids: true,
        ..Wording::default()
    };
    let found = events(Dialect::Vllm, wording, TEXT);
    assert!(found[0].ends_with(r#""token_ids":[0]}]}"#), "{}", found[0]);
    assert!(found[1].ends_with(r#""token_ids":[1]}]}"#), "{}", found[1]);
}
