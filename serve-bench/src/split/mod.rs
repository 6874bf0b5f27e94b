//! Whether to split prefill and decode, and what a result of engines that are split says of itself.

mod check;
mod plan;

pub(crate) use check::{CheckArgs, check};
pub(crate) use plan::{SplitArgs, split};
