//! Errors as vLLM words them: status and `{"error": {"message", "type", "param", "code"}}`.

use hyper::{Response, StatusCode};

use super::dialect::quoted;
use crate::listener::{JSON, Reply, whole};

/// A refusal that becomes the response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ApiError {
    status: StatusCode,
    /// vLLM's name of the kind.
    kind: &'static str,
    /// The field that is wrong, where vLLM names it.
    param: Option<&'static str>,
    message: String,
}

impl ApiError {
    fn of(status: StatusCode, kind: &'static str, message: impl Into<String>) -> Self {
        Self {
            status,
            kind,
            param: None,
            message: message.into(),
        }
    }

    /// A body that is not understood, or a field of the wrong type.
    pub(super) fn invalid(message: impl Into<String>) -> Self {
        Self::of(StatusCode::BAD_REQUEST, "Bad Request", message)
    }

    /// A request that is understood and cannot be done.
    pub(super) fn refused(param: Option<&'static str>, message: impl Into<String>) -> Self {
        let of = Self::of(StatusCode::BAD_REQUEST, "BadRequestError", message);
        Self { param, ..of }
    }

    /// A model that is not served here.
    pub(super) fn no_model(name: &str) -> Self {
        let message = format!("The model `{name}` does not exist.");
        let param = Some("model");
        let of = Self::of(StatusCode::NOT_FOUND, "NotFoundError", message);
        Self { param, ..of }
    }

    /// The engine has stopped, or a prefill engine does not have what it should.
    pub(super) fn internal(message: &str) -> Self {
        let status = StatusCode::INTERNAL_SERVER_ERROR;
        Self::of(status, "InternalServerError", message)
    }

    /// A fault on purpose.
    pub(super) fn planted(code: u16) -> Self {
        Self {
            status: StatusCode::from_u16(code).unwrap_or_default(),
            ..Self::internal("a fault that --fault asked for")
        }
    }

    /// The body, its keys in vLLM's order.
    pub(super) fn json(&self) -> String {
        let param = self.param.map_or_else(|| "null".to_owned(), quoted);
        format!(
            r#"{{"error":{{"message":{},"type":{},"param":{param},"code":{}}}}}"#,
            quoted(&self.message),
            quoted(self.kind),
            self.status.as_u16()
        )
    }

    /// The response.
    pub(super) fn response(&self) -> Response<Reply> {
        whole(self.status, JSON, self.json())
    }
}
