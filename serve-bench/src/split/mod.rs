//! Whether to split prefill and decode, and what a result of engines that are split says of itself.

mod check;
mod link;
mod paper;
pub(crate) mod study;
mod words;

pub(crate) use check::{CheckArgs, check};
pub(crate) use link::kv_link;
pub(crate) use paper::{PaperArgs, on_paper};
