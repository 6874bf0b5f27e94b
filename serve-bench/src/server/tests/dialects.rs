//! Bytes of SGLang's streams against shapes written by hand: keys and their order are those of the source.

use super::client::{ask, timeless};
use super::running::{Running, setup};
use crate::server::dialect::Dialect;

const CHAT: &str = "/v1/chat/completions";

/// The data of the events of a reply of two tokens to a prompt of two, with the version taken out of the fingerprint.
fn events(dialect: Dialect, path: &str) -> Vec<String> {
    let mut setup = setup(100.0);
    setup.0.args.dialect = dialect;
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

#[test]
fn sglang_spells_out_what_is_empty() {
    let of = |delta: &str, reason: &str| {
        format!(
            r#"{{"id":"chatcmpl-0000000000000000","object":"chat.completion.chunk","created":0,"model":"tiny","choices":[{{"index":0,"delta":{delta},"logprobs":null,"finish_reason":{reason},"matched_stop":null}}],"usage":null}}"#
        )
    };
    let found = events(Dialect::Sglang, CHAT);
    assert_eq!(
        found,
        [
            of(
                r#"{"role":"assistant","content":"","reasoning_content":null,"tool_calls":null}"#,
                "null"
            ),
            of(
                r#"{"role":null,"content":"a","reasoning_content":null,"tool_calls":null}"#,
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
