//! Records in the formats of other tools.

mod vllm;

pub use vllm::{ExportError, vllm_json};
