//! Errors as vLLM words them: status and `{"error": {"message", "type", "param", "code"}}`.

use hyper::StatusCode;
use serde::Serialize;

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

#[derive(Serialize)]
struct Envelope<'a> {
    error: Content<'a>,
}

#[derive(Serialize)]
struct Content<'a> {
    message: &'a str,
    #[serde(rename = "type")]
    kind: &'a str,
    param: Option<&'a str>,
    code: u16,
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
        Self::new(
            StatusCode::NOT_FOUND,
            "NotFoundError",
            Some("model"),
            message,
        )
    }

    /// The engine has stopped.
    pub(super) fn engine_gone() -> Self {
        Self::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            "InternalServerError",
            None,
            "EngineCore encountered an issue. The soft engine has stopped.",
        )
    }

    /// An error of this status that nothing went wrong for.
    pub(super) fn on_purpose(status: u16) -> Self {
        Self::new(
            StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR),
            "InternalServerError",
            None,
            "This error was asked for with --fault.",
        )
    }

    fn new(
        status: StatusCode,
        kind: &'static str,
        param: Option<&'static str>,
        message: impl Into<String>,
    ) -> Self {
        Self {
            status,
            kind,
            param,
            message: message.into(),
        }
    }

    /// The body.
    pub(super) fn json(&self) -> String {
        let envelope = Envelope {
            error: Content {
                message: &self.message,
                kind: self.kind,
                param: self.param,
                code: self.status.as_u16(),
            },
        };
        // Strings and a number always have a JSON form.
        serde_json::to_string(&envelope).unwrap_or_default()
    }
}
