//! The words of `transformers serve` 5.19: the count inside the finish chunk, and nothing behind it.

use super::Wording;
use super::chunks::{Chunks, Counted, Ids, Pair, Template, Told};
use crate::server::reply::{Endpoint, Head, Usage, quoted};

/// What follows the choices of every part.
fn fields(head: &Head, object: &str) -> String {
    let fingerprint = match head.endpoint {
        Endpoint::Chat => r#","system_fingerprint":"""#,
        Endpoint::Completions => "",
    };
    format!(
        r#""created":{},"model":{},"object":"{object}"{fingerprint}"#,
        head.created,
        quoted(&head.model)
    )
}

/// The chunks of a stream.
pub(super) fn chunks(head: &Head, _: Wording) -> Chunks {
    let id = quoted(&head.id);
    let begin = format!(r#"data: {{"id":{id},"choices":["#);
    let (object, role, content, finish) = match head.endpoint {
        Endpoint::Chat => (
            "chat.completion.chunk",
            Some(r#"{"delta":{"role":"assistant"},"index":0}"#),
            (r#"{"delta":{"content":""#, r#""},"index":0}"#),
            r#"{"delta":{},"index":0,"finish_reason":"length"}"#,
        ),
        Endpoint::Completions => (
            "text_completion",
            None,
            (r#"{"index":0,"text":""#, r#""}"#),
            r#"{"finish_reason":"length","index":0,"text":""}"#,
        ),
    };
    let fields = fields(head, object);
    let chunk = |(before, behind): (&str, &str)| {
        Pair::same(Template::new(
            format!("{begin}{before}"),
            &format!("{behind}],{fields}}}"),
            "",
        ))
    };
    Chunks {
        role: role.map(|role| format!("{begin}{role}],{fields}}}\n\n")),
        content: chunk(content),
        reasoning: None,
        reasoning_tokens: 0,
        ids: Ids::NoPlace,
        finish: Some(format!("{begin}{finish}],{fields}")),
        counted: Counted::InFinish,
        apart: String::new(),
        behind_usage: String::new(),
        usage,
        timings: false,
        done: false,
    }
}

/// The whole of a reply that is not streamed.
pub(super) fn whole(head: &Head, told: &Told) -> String {
    let content = quoted(&told.content);
    let (object, choice) = match head.endpoint {
        Endpoint::Completions => (
            "text_completion",
            format!(r#"{{"finish_reason":"length","index":0,"text":{content}}}"#),
        ),
        Endpoint::Chat => (
            "chat.completion",
            format!(
                r#"{{"finish_reason":"length","index":0,"message":{{"content":{content},"role":"assistant"}}}}"#
            ),
        ),
    };
    format!(
        r#"{{"id":{},"choices":[{choice}],{},"usage":{}}}"#,
        quoted(&head.id),
        fields(head, object),
        usage(told.tally.usage)
    )
}

fn usage(usage: Usage) -> String {
    format!(
        r#"{{"completion_tokens":{},"prompt_tokens":{},"total_tokens":{}}}"#,
        usage.completion_tokens,
        usage.prompt_tokens,
        usage.total_tokens()
    )
}
