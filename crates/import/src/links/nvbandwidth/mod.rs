//! The JSON and text of nvbandwidth, and which of its tests is which of our cases.

pub(super) mod json;
mod matrix;
pub(super) mod text;
