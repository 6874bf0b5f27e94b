//! The router against engines that are scripts over plain sockets.
#![expect(clippy::unwrap_used, reason = "helpers of tests")]

mod engines;
mod matrix;
mod mock;
pub(crate) mod router;
mod searched;
mod transcripts;
