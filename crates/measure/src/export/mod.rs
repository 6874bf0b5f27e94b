//! Records in the formats of other tools.

mod nvbandwidth;
mod styled;
mod vllm;

pub use nvbandwidth::{LinksExportError, NvbandwidthJson, nvbandwidth_json};
pub use vllm::{ExportError, vllm_json};
