//! Refusals in the shape of vLLM.

use http_body_util::{BodyExt, Full};
use hyper::Request;
use serde_json::Value;

use super::client::ask;
use super::running::{Running, setup};
use crate::server::route::Shared;

/// A refused body: path, body, status, kind, field, part of the message.
type Refusal = (
    &'static str,
    &'static str,
    u16,
    &'static str,
    Option<&'static str>,
    &'static str,
);

const REFUSALS: &[Refusal] = &[
    (
        "/v1/completions",
        "{",
        400,
        "Bad Request",
        None,
        "the body is not understood: EOF",
    ),
    (
        "/v1/completions",
        r#"{"model":"tiny"}"#,
        400,
        "Bad Request",
        None,
        "prompt is missing",
    ),
    (
        "/v1/completions",
        r#"{"model":"other","prompt":"a"}"#,
        404,
        "NotFoundError",
        Some("model"),
        "The model `other` does not exist.",
    ),
    (
        "/v1/completions",
        r#"{"prompt":"a","n":2}"#,
        400,
        "BadRequestError",
        Some("n"),
        "n must be 1",
    ),
    // 2 + 99 999 tokens are one more than the longest sequence.
    (
        "/v1/completions",
        r#"{"prompt":"a b","max_tokens":99999}"#,
        400,
        "BadRequestError",
        Some("input_tokens"),
        "This model's maximum context length is 100000 tokens. However, you requested 99999 output tokens and your prompt contains 2 input tokens, for a total of 100001 tokens.",
    ),
    (
        "/v1/chat/completions",
        r#"{"messages":[{"role":"user","content":[{"type":"image_url"}]}]}"#,
        400,
        "BadRequestError",
        Some("messages"),
        "text parts only",
    ),
];

#[test]
fn what_cannot_be_served_is_refused_in_the_shape_of_vllm() {
    let server = Running::start(100.0);
    for (path, body, status, kind, param, message) in REFUSALS {
        let (head, found) = ask(server.address, "POST", path, body);
        let error: Value = serde_json::from_str(&found).unwrap();
        let error = &error["error"];
        assert_eq!(head.status, *status, "{body}: {found}");
        assert_eq!(error["type"], *kind, "{body}");
        assert_eq!(error["code"], *status, "{body}");
        assert_eq!(error["param"].as_str(), *param, "{body}");
        let found = error["message"].as_str().unwrap();
        assert!(found.contains(message), "{body}: {found}");
        assert_eq!(head.header("x-tplens-soft-box"), Some("rtxpro6000-mig"));
    }
}

#[test]
fn an_error_body_has_the_keys_of_vllm_in_its_order() {
    let server = Running::start(100.0);
    let (_, body) = ask(
        server.address,
        "POST",
        "/v1/completions",
        r#"{"model":"x\"y","prompt":"a"}"#,
    );
    assert_eq!(
        body,
        r#"{"error":{"message":"The model `x\"y` does not exist.","type":"NotFoundError","param":"model","code":404}}"#
    );
}

#[test]
fn other_paths_and_methods_are_refused_as_fastapi_does() {
    let server = Running::start(100.0);
    let (head, body) = ask(server.address, "GET", "/v2", "");
    assert_eq!(
        (head.status, body.as_str()),
        (404, r#"{"detail":"Not Found"}"#)
    );
    let (head, body) = ask(server.address, "GET", "/v1/completions", "");
    assert_eq!(
        (head.status, body.as_str()),
        (405, r#"{"detail":"Method Not Allowed"}"#)
    );
}

#[test]
fn a_stream_whose_engine_stops_ends_with_an_error_and_done() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    let body = runtime.block_on(async {
        // A step of an hour: no token comes before the end.
        let shared = Shared::start(setup(3.6e9)).unwrap();
        let request = Request::post("/v1/completions")
            .body(Full::<bytes::Bytes>::from(
                r#"{"prompt":"a","stream":true}"#,
            ))
            .unwrap();
        let response = shared.respond(request).await;
        assert_eq!(response.status(), 200);
        drop(shared);
        response.into_body().collect().await.unwrap().to_bytes()
    });
    assert_eq!(
        body,
        concat!(
            r#"data: {"error":{"message":"EngineCore encountered an issue. The simulated engine has stopped.","type":"InternalServerError","param":null,"code":500}}"#,
            "\n\ndata: [DONE]\n\n"
        )
    );
}
