//! Records in the formats of other tools.

mod error;
mod nccl_tests;
mod nvbandwidth;
mod styled;
mod vllm;

pub use error::OtherPayload;
pub use nccl_tests::{NcclTestsText, nccl_tests};
pub use nvbandwidth::{LinksExportError, NvbandwidthJson, nvbandwidth_json};
pub use vllm::{ExportError, VllmForm, VllmMetric, vllm_file_name, vllm_json, vllm_text};
