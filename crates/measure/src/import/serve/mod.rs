//! Serving results: ours, vLLM's JSON and printed block, and flat summaries of clients that do not stream.

mod aliases;
mod block;
mod ours;
mod read;
mod run;
mod summary;
mod tokens;
mod vllm;

pub use aliases::accepted_keys;
pub use read::read;
pub use run::{ServeFormat, ServeRun, Spread};
