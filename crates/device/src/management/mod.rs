//! What a vendor's management library says beside the compute driver: who uses a device, its link, its MIG instances.
//!
//! Every answer may be missing, and then carries the library's reason. Calls can block on a failing device, so a
//! process of its own makes them.

mod amd;
mod asked;
mod ffi;
mod managed;
mod nvlink;
mod nvml;
mod sample;

pub use amd::Amd;
pub use asked::Management;
pub use managed::Managed;
pub(crate) use managed::{AMDGPU, MXSML, NVML};
pub use nvml::Nvml;
pub use sample::Sample;
use topology::{NvLinks, PcieLink, Repairs};

/// Why a management answer is missing, in the library's words.
pub type Unanswered = String;

/// An answer, or why it is missing.
pub type Answer<T> = std::result::Result<T, Unanswered>;

/// What the management library knows of a device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ManagedDevice {
    /// UUID of the physical device.
    pub uuid: Option<String>,
    /// PCI address as the library prints it.
    pub pci: Option<String>,
    /// Bytes of memory in use on the physical device.
    pub used_bytes: Answer<u64>,
    /// Processes that compute on it: id and bytes, where the library gives them.
    pub processes: Answer<Vec<(u32, Option<u64>)>>,
    /// What was repaired of its memory.
    pub repairs: Repairs,
    /// Its NVLinks; `None` where the library has no such thing.
    pub nvlinks: Option<NvLinks>,
    /// Utilisation of the compute units, percent.
    pub utilisation_percent: Option<u32>,
    /// MIG instances on it; empty where MIG is off.
    pub mig: Vec<MigInstance>,
    /// Whether MIG mode is on; `None` where the library does not say.
    pub mig_enabled: Option<bool>,
}

/// A MIG instance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MigInstance {
    /// Its UUID, `MIG-…`.
    pub uuid: String,
    /// Its profile such as `4g.96gb`, from its name.
    pub profile: Option<String>,
}

/// A device's own link as the library reads it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ManagedLink {
    /// Now.
    pub current: Option<PcieLink>,
    /// The smaller of what card and slot can do.
    pub maximum: Option<PcieLink>,
}
