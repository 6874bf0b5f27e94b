//! vLLM's words, in its order of keys: the shapes are those of vLLM 0.32's streams and replies.

use super::Wording;
use super::chunks::{Chunks, Counted, Ids, Pair, Template, Told, list};
use crate::server::reply::{Endpoint, Head, Usage, fingerprint, quoted};

/// `"id":..,"object":..,"created":..,"model":..` as every part begins.
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
    let object = match head.endpoint {
        Endpoint::Completions => "text_completion",
        Endpoint::Chat => "chat.completion.chunk",
    };
    let fields = fields(head, object);
    let delta = |member: &str| Pair {
        amid: Template::new(
            format!(r#"data: {fields},"choices":[{{"index":0,"delta":{{"{member}":""#),
            r#""},"logprobs":null,"finish_reason":null,"token_ids":"#,
            "}]}",
        ),
        last: Template::new(
            format!(r#"data: {fields},"choices":[{{"index":0,"delta":{{"{member}":""#),
            r#""},"logprobs":null,"finish_reason":"length","stop_reason":null,"token_ids":"#,
            "}]}",
        ),
    };
    let text = |reason: &str| {
        Template::new(
            format!(r#"data: {fields},"choices":[{{"index":0,"text":""#),
            &format!(
                r#"","logprobs":null,"finish_reason":{reason},"stop_reason":null,"prompt_token_ids":null,"token_ids":"#
            ),
            "}]}",
        )
    };
    let (role, content, reasoning) = match head.endpoint {
        Endpoint::Completions => {
            let pair = Pair {
                amid: text("null"),
                last: text(r#""length""#),
            };
            (None, pair, None)
        }
        Endpoint::Chat => {
            let role = format!(
                concat!(
                    r#"data: {},"choices":[{{"index":0,"delta":{{"role":"assistant","content":""}},"logprobs":null,"finish_reason":null}}],"#,
                    r#""prompt_token_ids":null,"prompt_text":null}}"#,
                    "\n\n"
                ),
                fields
            );
            (Some(role), delta("content"), Some(delta("reasoning")))
        }
    };
    Chunks {
        role,
        content,
        reasoning,
        reasoning_tokens: wording.reasoning_tokens,
        ids: if wording.token_ids {
            Ids::Listed
        } else {
            Ids::Null
        },
        finish: None,
        counted: Counted::Apart,
        apart: format!(r#"data: {fields},"choices":[]"#),
        behind_usage: format!(",\"system_fingerprint\":{}", quoted(&fingerprint())),
        usage: if wording.tells_cached {
            usage_with_details
        } else {
            usage
        },
        timings: false,
        done: true,
    }
}

/// The whole of a reply that is not streamed.
pub(super) fn whole(head: &Head, told: &Told) -> String {
    let ids = told.ids.as_deref().map_or_else(|| "null".to_owned(), list);
    let content = quoted(&told.content);
    let (object, choice) = match head.endpoint {
        Endpoint::Completions => (
            "text_completion",
            format!(
                r#"{{"index":0,"text":{content},"logprobs":null,"finish_reason":"length","stop_reason":null,"token_ids":{ids},"prompt_logprobs":null,"prompt_token_ids":null}}"#
            ),
        ),
        Endpoint::Chat => {
            let reasoning = told.reasoning.as_ref().map_or_else(String::new, |text| {
                format!(r#","reasoning":{}"#, quoted(text))
            });
            (
                "chat.completion",
                format!(
                    r#"{{"index":0,"message":{{"role":"assistant","content":{content}{reasoning}}},"logprobs":null,"finish_reason":"length","stop_reason":null,"token_ids":{ids}}}"#
                ),
            )
        }
    };
    let usage = if told.tells_cached {
        usage_with_details(told.tally.usage)
    } else {
        usage(told.tally.usage)
    };
    format!(
        r#"{},"choices":[{choice}],"service_tier":null,"system_fingerprint":{},"usage":{usage}}}"#,
        fields(head, object),
        quoted(&fingerprint()),
    )
}

/// The count, with `prompt_tokens_details` or without.
fn counts(usage: Usage, details: &str) -> String {
    format!(
        r#"{{"prompt_tokens":{},"total_tokens":{},"completion_tokens":{}{details}}}"#,
        usage.prompt_tokens,
        usage.total_tokens(),
        usage.completion_tokens
    )
}

fn usage(usage: Usage) -> String {
    counts(usage, "")
}

/// As `--enable-prompt-tokens-details` has it.
fn usage_with_details(usage: Usage) -> String {
    let details = format!(
        r#","prompt_tokens_details":{{"cached_tokens":{}}}"#,
        usage.cached_tokens
    );
    counts(usage, &details)
}
