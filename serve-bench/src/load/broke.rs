//! Why an exchange broke, or its content is no reply.

use record::{RequestError, RequestErrorKind};

/// A failure of this kind, with what was seen of it.
pub(super) fn failed(kind: RequestErrorKind, seen: impl Into<String>) -> RequestError {
    let seen = seen.into();
    RequestError { kind, seen }
}
