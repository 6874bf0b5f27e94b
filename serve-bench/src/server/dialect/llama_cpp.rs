//! The words of llama.cpp's server, as its build of autumn 2026 sent them: choices first, the finish chunk apart, timings.

use super::Wording;
use super::chunks::{Chunks, Counted, Ids, Pair, Template, Told};
use crate::server::reply::{Endpoint, Head, Usage, fingerprint, quoted};

/// What follows the choices of every part of a chat reply.
fn chat_fields(head: &Head, object: &str) -> String {
    format!(
        r#""created":{},"id":{},"model":{},"system_fingerprint":{},"object":"{object}""#,
        head.created,
        quoted(&head.id),
        quoted(&head.model),
        quoted(&fingerprint())
    )
}

/// What follows the choices of every part of a completion, but for its id, which comes last.
fn text_fields(head: &Head) -> String {
    format!(
        r#""created":{},"model":{},"system_fingerprint":{},"object":"text_completion""#,
        head.created,
        quoted(&head.model),
        quoted(&fingerprint())
    )
}

/// The chunks of a stream.
pub(super) fn chunks(head: &Head, wording: Wording) -> Chunks {
    match head.endpoint {
        Endpoint::Chat => chat(head, wording),
        Endpoint::Completions => text(head),
    }
}

fn chat(head: &Head, wording: Wording) -> Chunks {
    let fields = chat_fields(head, "chat.completion.chunk");
    let choice = |delta: &str, reason: &str| {
        format!(
            r#"data: {{"choices":[{{"finish_reason":{reason},"index":0,"delta":{delta}}}],{fields}"#
        )
    };
    let delta = |member: &str| {
        Pair::same(Template::new(
            format!(
                r#"data: {{"choices":[{{"finish_reason":null,"index":0,"delta":{{"{member}":""#
            ),
            &format!(r#""}}}}],{fields}}}"#),
            "",
        ))
    };
    let role = choice(r#"{"role":"assistant","content":null}"#, "null");
    Chunks {
        role: Some(format!("{role}}}\n\n")),
        content: delta("content"),
        reasoning: Some(delta("reasoning_content")),
        reasoning_tokens: wording.reasoning_tokens,
        ids: Ids::NoPlace,
        finish: Some(choice("{}", r#""length""#)),
        counted: Counted::Apart,
        apart: format!(r#"data: {{"choices":[],{fields}"#),
        behind_usage: String::new(),
        usage,
        timings: true,
        done: true,
    }
}

fn text(head: &Head) -> Chunks {
    let fields = text_fields(head);
    let id = quoted(&head.id);
    Chunks {
        role: None,
        content: Pair::same(Template::new(
            r#"data: {"choices":[{"text":""#.to_owned(),
            &format!(r#"","index":0,"logprobs":null,"finish_reason":null}}],{fields},"id":{id}}}"#),
            "",
        )),
        reasoning: None,
        reasoning_tokens: 0,
        ids: Ids::NoPlace,
        finish: Some(format!(
            r#"data: {{"choices":[{{"text":"","index":0,"logprobs":null,"finish_reason":"length"}}],{fields},"id":{id}"#
        )),
        counted: Counted::InFinish,
        apart: String::new(),
        behind_usage: String::new(),
        usage,
        timings: true,
        done: true,
    }
}

/// The whole of a reply that is not streamed.
pub(super) fn whole(head: &Head, told: &Told) -> String {
    let content = quoted(&told.content);
    let (choice, fields) = match head.endpoint {
        Endpoint::Completions => (
            format!(r#"{{"text":{content},"index":0,"logprobs":null,"finish_reason":"length"}}"#),
            format!(r#"{},"id":{}"#, text_fields(head), quoted(&head.id)),
        ),
        Endpoint::Chat => {
            let reasoning = told.reasoning.as_ref().map_or_else(String::new, |text| {
                format!(r#""reasoning_content":{},"#, quoted(text))
            });
            (
                format!(
                    r#"{{"finish_reason":"length","index":0,"message":{{"role":"assistant",{reasoning}"content":{content}}}}}"#
                ),
                chat_fields(head, "chat.completion"),
            )
        }
    };
    format!(
        r#"{{"choices":[{choice}],{fields},"usage":{},"timings":{}}}"#,
        usage(told.tally.usage),
        told.tally.timings_json()
    )
}

fn usage(usage: Usage) -> String {
    format!(
        r#"{{"completion_tokens":{},"prompt_tokens":{},"total_tokens":{},"prompt_tokens_details":{{"cached_tokens":{}}}}}"#,
        usage.completion_tokens,
        usage.prompt_tokens,
        usage.total_tokens(),
        usage.cached_tokens
    )
}
