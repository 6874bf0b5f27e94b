//! Whether a plan's servers have the memory for their models: weights, keys and values, and what the engine takes beside them.
//!
//! Weights and the cache of a token are counted from the model's shape; what activations, the runtime and captured graphs take is
//! assumed and said. Nothing is asked of a GPU.

mod fit;
mod flags;
mod size;
mod text;

pub(super) use fit::{Checked, checked};
pub(super) use text::{table, warnings};
