//! What the monitor and the process that reads devices say to each other, a JSON line each.

use std::collections::BTreeMap;
use std::path::PathBuf;

use device::Built;
use measure::record::MonitorValues;
use serde::{Deserialize, Serialize};

/// What is asked; first `Watch`, then `Read` for any device that has answered.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "ask", rename_all = "snake_case")]
pub(super) enum SamplerRequest {
    /// Devices by PCI address, in the parent's order, under this sysfs root.
    Watch {
        backend: Built,
        sysfs: PathBuf,
        devices: Vec<Option<String>>,
    },
    /// Read one of them now.
    Read { device: usize },
}

/// One reading of one device; answers of different devices come in any order.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct SamplerReply {
    pub(super) device: usize,
    pub(super) values: Box<MonitorValues>,
    /// Why a value is missing, by its key.
    pub(super) missing: BTreeMap<String, String>,
}
