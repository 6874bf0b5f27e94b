//! Whether to split prefill and decode, and what a result of engines that are split says of itself.

mod check;
mod paper;
pub(crate) mod study;
mod words;

pub(crate) use check::{CheckArgs, check};
pub(crate) use paper::{PaperArgs, kv_link, on_paper};
