//! Errors as vLLM words them: status and `{"error": {"message", "type", "param", "code"}}`.

use hyper::StatusCode;

use super::reply::quoted;

/// A refusal that becomes the response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ApiError {
    pub(super) status: StatusCode,
    /// vLLM's name of the kind.
    kind: &'static str,
    /// The field that is wrong, where vLLM names it.
    param: Option<&'static str>,
    message: String,
}

impl ApiError {
    /// A body that is not understood, or a field of the wrong type.
    pub(super) fn invalid(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "Bad Request", None, message)
    }

    /// A request that is understood and cannot be done.
    pub(super) fn refused(param: Option<&'static str>, message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "BadRequestError", param, message)
    }

    /// A model that is not served here.
    pub(super) fn no_model(name: &str) -> Self {
        let message = format!("The model `{name}` does not exist.");
        let (status, kind) = (StatusCode::NOT_FOUND, "NotFoundError");
        Self::new(status, kind, Some("model"), message)
    }

    /// A prefill engine does not have what it should, or cannot be reached; as vLLM with `kv_load_failure_policy` fail.
    pub(super) fn no_kv() -> Self {
        let (status, kind) = (StatusCode::INTERNAL_SERVER_ERROR, "InternalServerError");
        Self::new(
            status,
            kind,
            None,
            "KV load failure: the prefill engine has no such blocks.",
        )
    }

    /// The engine has stopped.
    pub(super) fn engine_gone() -> Self {
        let (status, kind) = (StatusCode::INTERNAL_SERVER_ERROR, "InternalServerError");
        let message = "EngineCore encountered an issue. The simulated engine has stopped.";
        Self::new(status, kind, None, message)
    }

    fn new(
        status: StatusCode,
        kind: &'static str,
        param: Option<&'static str>,
        message: impl Into<String>,
    ) -> Self {
        let message = message.into();
        Self {
            status,
            kind,
            param,
            message,
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
}
