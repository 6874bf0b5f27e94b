//! SGLang's words, after its source (0.5) and not after a server that ran: members without a value are spelled out as null.

use super::Wording;
use super::chunks::{Chunks, Counted, Ids, Pair, Template, Told};
use crate::server::reply::{Endpoint, Head, Usage, quoted};

fn fields(head: &Head, object: &str) -> String {
    format!(
        r#"{{"id":{},"object":"{object}","created":{},"model":{}"#,
        quoted(&head.id),
        head.created,
        quoted(&head.model)
    )
}

/// The chunks of a stream.
pub(super) fn chunks(head: &Head, wording: Wording) -> Chunks {
    match head.endpoint {
        Endpoint::Chat => chat(head, wording),
        Endpoint::Completions => text(head, wording),
    }
}

fn chat(head: &Head, wording: Wording) -> Chunks {
    let fields = fields(head, "chat.completion.chunk");
    let begin = format!(r#"data: {fields},"choices":[{{"index":0,"delta":"#);
    let end = |reason: &str| {
        format!(
            r#","tool_calls":null}},"logprobs":null,"finish_reason":{reason},"matched_stop":null}}]"#
        )
    };
    let amid = format!("{},\"usage\":null}}", end("null"));
    let role = format!(
        "{begin}{}{amid}\n\n",
        r#"{"role":"assistant","content":"","reasoning_content":null"#
    );
    let content = Template::new(
        format!(r#"{begin}{{"role":null,"content":""#),
        &format!(r#"","reasoning_content":null{amid}"#),
        "",
    );
    let reasoning = Template::new(
        format!(r#"{begin}{{"role":null,"content":null,"reasoning_content":""#),
        &format!("\"{amid}"),
        "",
    );
    let finish = format!(
        r#"{begin}{{"role":null,"content":null,"reasoning_content":null{},"usage":null"#,
        end(r#""length""#)
    );
    Chunks {
        role: Some(role),
        content: Pair::same(content),
        reasoning: Some(Pair::same(reasoning)),
        reasoning_tokens: wording.reasoning_tokens,
        ids: Ids::NoPlace,
        finish: Some(finish),
        counted: Counted::Apart,
        apart: format!(r#"data: {fields},"choices":[]"#),
        behind_usage: String::new(),
        usage: usage_of(wording.tells_cached),
        timings: false,
        done: true,
    }
}

fn text(head: &Head, wording: Wording) -> Chunks {
    let fields = fields(head, "text_completion");
    let template = |reason: &str| {
        Template::new(
            format!(r#"data: {fields},"choices":[{{"index":0,"text":""#),
            &format!(
                r#"","logprobs":null,"finish_reason":{reason},"matched_stop":null}}],"usage":null}}"#
            ),
            "",
        )
    };
    Chunks {
        role: None,
        content: Pair {
            amid: template("null"),
            last: template(r#""length""#),
        },
        reasoning: None,
        reasoning_tokens: 0,
        ids: Ids::NoPlace,
        finish: None,
        counted: Counted::Apart,
        apart: format!(r#"data: {fields},"choices":[]"#),
        behind_usage: String::new(),
        usage: usage_of(wording.tells_cached),
        timings: false,
        done: true,
    }
}

/// The whole of a reply that is not streamed.
pub(super) fn whole(head: &Head, told: &Told) -> String {
    let content = quoted(&told.content);
    let end = r#""logprobs":null,"finish_reason":"length","matched_stop":null"#;
    let (object, choice) = match head.endpoint {
        Endpoint::Completions => (
            "text_completion",
            format!(r#"{{"index":0,"text":{content},{end}}}"#),
        ),
        Endpoint::Chat => {
            let reasoning = told
                .reasoning
                .as_deref()
                .map_or_else(|| "null".to_owned(), quoted);
            (
                "chat.completion",
                format!(
                    r#"{{"index":0,"message":{{"role":"assistant","content":{content},"reasoning_content":{reasoning},"tool_calls":null}},{end}}}"#
                ),
            )
        }
    };
    format!(
        r#"{},"choices":[{choice}],"usage":{}}}"#,
        fields(head, object),
        usage_of(told.tells_cached)(told.tally.usage)
    )
}

fn usage_of(tells_cached: bool) -> fn(Usage) -> String {
    if tells_cached {
        usage_with_details
    } else {
        usage
    }
}

fn counts(usage: Usage, details: &str) -> String {
    format!(
        r#"{{"prompt_tokens":{},"total_tokens":{},"completion_tokens":{},"prompt_tokens_details":{details}}}"#,
        usage.prompt_tokens,
        usage.total_tokens(),
        usage.completion_tokens
    )
}

fn usage(usage: Usage) -> String {
    counts(usage, "null")
}

/// As `--enable-cache-report` has it.
fn usage_with_details(usage: Usage) -> String {
    counts(
        usage,
        &format!(r#"{{"cached_tokens":{}}}"#, usage.cached_tokens),
    )
}
