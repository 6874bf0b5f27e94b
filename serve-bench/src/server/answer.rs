//! The answers that need no engine: models, version, and responses with the headers that all share.

use std::convert::Infallible;

use bytes::Bytes;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full};
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::{Response, StatusCode};
use serde_json::json;

use super::error::ApiError;

/// The body of any response.
pub(super) type Reply = UnsyncBoxBody<Bytes, Infallible>;

/// The header that says which box is simulated.
pub(super) const SOFT_BOX: &str = "x-tplens-soft-box";

const JSON: HeaderValue = HeaderValue::from_static("application/json");
const TEXT: HeaderValue = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");

/// A JSON response.
pub(super) fn json(status: StatusCode, body: String) -> Response<Reply> {
    full(status, body, JSON)
}

/// A response in Prometheus' text format.
pub(super) fn metrics(body: String) -> Response<Reply> {
    full(StatusCode::OK, body, TEXT)
}

/// The response of a refusal.
pub(super) fn error(error: &ApiError) -> Response<Reply> {
    json(error.status, error.json())
}

/// An empty response, as vLLM's `/health`.
pub(super) fn empty() -> Response<Reply> {
    Response::new(Full::default().boxed_unsync())
}

/// A reply of this content type that comes bit by bit.
pub(super) fn bit_by_bit(body: Reply, kind: HeaderValue) -> Response<Reply> {
    let mut response = Response::new(body);
    response.headers_mut().insert(CONTENT_TYPE, kind);
    response
}

/// The body of `/v1/models`.
pub(super) fn models(model: &str, created: u64, max_model_len: u32) -> String {
    json!({
        "object": "list",
        "data": [{
            "id": model,
            "object": "model",
            "created": created,
            "owned_by": "tplens",
            "root": model,
            "parent": null,
            "max_model_len": max_model_len,
            "permission": [],
        }],
    })
    .to_string()
}

/// The body of `/version`.
pub(super) fn version(soft_box: &str, speed: f64) -> String {
    json!({
        "version": env!("CARGO_PKG_VERSION"),
        "tplens_soft_box": soft_box,
        "tplens_speed": speed,
    })
    .to_string()
}

fn full(status: StatusCode, body: String, kind: HeaderValue) -> Response<Reply> {
    let mut response = Response::new(Full::from(body).boxed_unsync());
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, kind);
    response
}
