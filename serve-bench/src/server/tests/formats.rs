//! Bytes of replies against shapes written by hand.

use super::client::{Connection, ask, timeless};
use super::running::Running;

/// One event: the keys and their order are those of vLLM 0.32 streams, retyped; `\n\n` ends it.
fn events(lines: &[&str]) -> String {
    lines
        .iter()
        .map(|line| format!("data: {line}\n\n"))
        .collect()
}

#[test]
fn a_streamed_completion_has_one_chunk_a_token_then_usage_then_done() {
    let server = Running::start(100.0);
    let (head, body) = ask(
        server.address,
        "POST",
        "/v1/completions",
        r#"{"model":"tiny","prompt":"one two  three\nfour","max_tokens":3,"stream":true,"stream_options":{"include_usage":true},"ignore_eos":true}"#,
    );
    assert_eq!(head.status, 200);
    assert_eq!(
        head.header("content-type"),
        Some("text/event-stream; charset=utf-8")
    );
    assert_eq!(head.header("x-tplens-soft-box"), Some("rtxpro6000-mig"));
    let fingerprint = concat!("tplens-soft-", env!("CARGO_PKG_VERSION"));
    // Words 0, 7 and 14 of the list; four words of prompt and three tokens are seven.
    let usage = format!(
        r#"{{"id":"cmpl-0000000000000000","object":"text_completion","created":0,"model":"tiny","choices":[],"usage":{{"prompt_tokens":4,"total_tokens":7,"completion_tokens":3}},"system_fingerprint":"{fingerprint}"}}"#
    );
    let expected = events(&[
        r#"{"id":"cmpl-0000000000000000","object":"text_completion","created":0,"model":"tiny","choices":[{"index":0,"text":"a","logprobs":null,"finish_reason":null,"stop_reason":null,"prompt_token_ids":null,"token_ids":null}]}"#,
        r#"{"id":"cmpl-0000000000000000","object":"text_completion","created":0,"model":"tiny","choices":[{"index":0,"text":" if","logprobs":null,"finish_reason":null,"stop_reason":null,"prompt_token_ids":null,"token_ids":null}]}"#,
        r#"{"id":"cmpl-0000000000000000","object":"text_completion","created":0,"model":"tiny","choices":[{"index":0,"text":" the","logprobs":null,"finish_reason":"length","stop_reason":null,"prompt_token_ids":null,"token_ids":null}]}"#,
        &usage,
        "[DONE]",
    ]);
    assert_eq!(timeless(&body), expected);
}

#[test]
fn a_streamed_chat_begins_with_the_role_and_its_first_token() {
    let server = Running::start(100.0);
    let mut connection = Connection::open(server.address);
    connection.send(
        "POST",
        "/v1/chat/completions",
        r#"{"model":"tiny","messages":[{"role":"user","content":"hello there"}],"max_completion_tokens":2,"stream":true}"#,
    );
    let head = connection.head();
    assert_eq!(head.status, 200);
    let body = connection.body(&head);
    let expected = events(&[
        r#"{"id":"chatcmpl-0000000000000000","object":"chat.completion.chunk","created":0,"model":"tiny","choices":[{"index":0,"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null}],"prompt_token_ids":null,"prompt_text":null}"#,
        r#"{"id":"chatcmpl-0000000000000000","object":"chat.completion.chunk","created":0,"model":"tiny","choices":[{"index":0,"delta":{"content":"a"},"logprobs":null,"finish_reason":null,"token_ids":null}]}"#,
        r#"{"id":"chatcmpl-0000000000000000","object":"chat.completion.chunk","created":0,"model":"tiny","choices":[{"index":0,"delta":{"content":" if"},"logprobs":null,"finish_reason":"length","stop_reason":null,"token_ids":null}]}"#,
        "[DONE]",
    ]);
    assert_eq!(timeless(&body), expected);
    // The connection is kept: a second request on it is answered.
    connection.send("GET", "/health", "");
    assert_eq!(connection.head().status, 200);
}

#[test]
fn replies_that_are_not_streamed_come_whole() {
    let server = Running::start(100.0);
    let fingerprint = concat!("tplens-soft-", env!("CARGO_PKG_VERSION"));
    // Five token ids are five prompt tokens.
    let (head, body) = ask(
        server.address,
        "POST",
        "/v1/completions",
        r#"{"prompt":[5,6,7,8,9],"max_tokens":2}"#,
    );
    assert_eq!(head.status, 200);
    assert_eq!(head.header("content-type"), Some("application/json"));
    let expected = format!(
        r#"{{"id":"cmpl-0000000000000000","object":"text_completion","created":0,"model":"tiny","choices":[{{"index":0,"text":"a if","logprobs":null,"finish_reason":"length","stop_reason":null,"token_ids":null,"prompt_logprobs":null,"prompt_token_ids":null}}],"service_tier":null,"system_fingerprint":"{fingerprint}","usage":{{"prompt_tokens":5,"total_tokens":7,"completion_tokens":2}}}}"#
    );
    assert_eq!(timeless(&body), expected);

    let (_, body) = ask(
        server.address,
        "POST",
        "/v1/chat/completions",
        r#"{"messages":[{"role":"system","content":"be brief"},{"role":"user","content":[{"type":"text","text":"one two three"}]}],"max_tokens":1}"#,
    );
    let expected = format!(
        r#"{{"id":"chatcmpl-0000000000000001","object":"chat.completion","created":0,"model":"tiny","choices":[{{"index":0,"message":{{"role":"assistant","content":"a"}},"logprobs":null,"finish_reason":"length","stop_reason":null,"token_ids":null}}],"service_tier":null,"system_fingerprint":"{fingerprint}","usage":{{"prompt_tokens":5,"total_tokens":6,"completion_tokens":1}}}}"#
    );
    assert_eq!(timeless(&body), expected);
}

#[test]
fn the_small_endpoints_answer_and_all_name_the_box() {
    let server = Running::start(100.0);
    let get = |path| ask(server.address, "GET", path, "");
    let (head, body) = get("/health");
    assert_eq!((head.status, body.as_str()), (200, ""));
    assert_eq!(head.header("x-tplens-soft-box"), Some("rtxpro6000-mig"));

    let (head, body) = get("/version");
    assert_eq!(head.header("x-tplens-soft-box"), Some("rtxpro6000-mig"));
    let expected = format!(
        r#"{{"tplens_soft_box":"rtxpro6000-mig","tplens_speed":1.0,"version":"{}"}}"#,
        env!("CARGO_PKG_VERSION")
    );
    assert_eq!(body, expected);

    let (_, body) = get("/v1/models");
    let models: serde_json::Value = serde_json::from_str(&body).unwrap();
    assert_eq!(models["object"], "list");
    assert_eq!(models["data"][0]["id"], "tiny");
    assert_eq!(models["data"][0]["max_model_len"], 100_000);

    // 2 prompt tokens, 3 generated ones.
    ask(
        server.address,
        "POST",
        "/v1/completions",
        r#"{"prompt":"a b","max_tokens":3}"#,
    );
    let (head, body) = get("/metrics");
    assert_eq!(
        head.header("content-type"),
        Some("text/plain; version=0.0.4; charset=utf-8")
    );
    let labels = r#"{engine="0",model_name="tiny",tplens_soft_box="rtxpro6000-mig"}"#;
    for line in [
        "# TYPE vllm:num_requests_running gauge".to_owned(),
        format!("vllm:num_requests_running{labels} 0.0"),
        format!("vllm:num_requests_waiting{labels} 0.0"),
        "# TYPE vllm:prompt_tokens_total counter".to_owned(),
        format!("vllm:prompt_tokens_total{labels} 2.0"),
        format!("vllm:generation_tokens_total{labels} 3.0"),
        format!("tplens:steps_total{labels} 3.0"),
    ] {
        assert!(body.lines().any(|found| found == line), "{line}\n{body}");
    }
}
