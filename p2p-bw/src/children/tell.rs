//! What a job of the worker says to the parent while it runs.

use crate::messages::WorkerReply;

/// Takes what the parent shall know meanwhile.
pub(super) type Tell<'a> = &'a mut dyn FnMut(WorkerReply);

/// Says what is being done.
pub(super) fn doing(tell: Tell<'_>, doing: &str) {
    let doing = doing.to_owned();
    tell(WorkerReply::Doing { doing });
}
