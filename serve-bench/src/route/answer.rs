//! The router's own answers, and the body type of all of them.

use std::io;

use bytes::Bytes;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full};
use hyper::header::{CONTENT_TYPE, HeaderValue, RETRY_AFTER};
use hyper::{Response, StatusCode};
use serde_json::json;

/// The body of any response.
pub(super) type Reply = UnsyncBoxBody<Bytes, io::Error>;

/// A whole response of a type.
pub(super) fn whole(
    status: StatusCode,
    kind: &'static str,
    body: impl Into<Bytes>,
) -> Response<Reply> {
    let body = Full::new(body.into()).map_err(|never| match never {});
    let mut response = Response::new(body.boxed_unsync());
    *response.status_mut() = status;
    let kind = HeaderValue::from_static(kind);
    response.headers_mut().insert(CONTENT_TYPE, kind);
    if status == StatusCode::SERVICE_UNAVAILABLE {
        response
            .headers_mut()
            .insert(RETRY_AFTER, HeaderValue::from_static("1"));
    }
    response
}

/// An error in the form of OpenAI's interface.
pub(super) fn error(status: StatusCode, code: &str, message: &str) -> Response<Reply> {
    whole(
        status,
        "application/json",
        error_json(status, code, message),
    )
}

/// An error's JSON.
pub(super) fn error_json(status: StatusCode, code: &str, message: &str) -> String {
    let kind = if status.is_client_error() {
        "invalid_request_error"
    } else {
        "upstream_error"
    };
    json!({"error": {"message": message, "type": kind, "code": code}}).to_string()
}
