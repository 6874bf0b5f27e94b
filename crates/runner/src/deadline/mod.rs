//! How long workers may make no progress, and what it means that they make none.

mod progress;
mod silence;
mod threads;

pub use progress::ProgressDeadline;
pub use silence::{RESUMED, Silence};
