//! Serving records in vLLM's formats.

mod vllm;

pub use vllm::{ExportError, VllmForm, VllmMetric, vllm_file_name, vllm_json, vllm_text};
