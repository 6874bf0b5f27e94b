//! `tplens serve engine`: the virtual engine of `crates/engine` behind HTTP, in wall time, answering as vLLM does or as SGLang.
//!
//! Replies are short words without meaning; the box that is simulated stands in every response's `x-tplens-soft-box`
//! header. There is no tokenizer: a prompt's tokens are its words, or the ids where it is an array of ids.

mod args;
mod counters;
mod dialect;
mod error;
mod pacer;
mod prompt;
mod remote;
mod route;
mod setup;
mod stream;
#[cfg(test)]
mod tests;

pub(crate) use args::Args;
pub(crate) use route::run;
