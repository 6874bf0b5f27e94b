//! What a vendor's management library says beside the compute driver: who uses a device, its link, its MIG instances.
//!
//! Every answer may be missing, and then carries the library's reason. Calls can block on a failing device, so a
//! process of its own makes them.

mod amd;
mod ffi;
mod managed;
mod nvlink;
mod nvml;
mod sample;

pub use amd::Amd;
pub use managed::Managed;
pub(crate) use managed::{AMDGPU, MXSML, NVML};
pub use nvml::Nvml;
pub use sample::Sample;
use topology::{NvLinks, PcieLink, Repairs};

/// Why a management answer is missing, in the library's words.
pub type Unanswered = String;

/// An answer, or why it is missing.
pub type Answer<T> = std::result::Result<T, Unanswered>;

/// What tells of a vendor's devices, whoever uses them.
pub trait Management {
    /// The version of the driver package or of the kernel's driver.
    ///
    /// # Errors
    /// Why it is not reported.
    fn driver_version(&self) -> Answer<String>;

    /// All physical devices; one that cannot be asked is left out with its reason.
    ///
    /// # Errors
    /// Why devices are not told at all.
    fn devices(&self) -> Answer<Vec<Answer<ManagedDevice>>>;

    /// The device's own link now, at a PCI address; `None` where the library gives one that PCI Express does not have.
    ///
    /// # Errors
    /// No such device, or why its link is not reported.
    fn link(&self, pci: &str) -> Answer<Option<PcieLink>>;

    /// Reads the physical device at a PCI address now; of each value that is missing, why.
    ///
    /// On NVIDIA this takes 40 ms or more: each of two PCIe counters counts for 20 ms.
    fn sample(&self, pci: &str) -> Sample;
}

/// What the management library knows of a device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ManagedDevice {
    /// UUID of the physical device.
    pub uuid: Option<String>,
    /// PCI address as the library prints it.
    pub pci: Option<String>,
    /// Bytes of memory in use on the physical device.
    pub used_bytes: Answer<u64>,
    /// Processes that compute on it, by id.
    pub processes: Answer<Vec<u32>>,
    /// What was repaired of its memory.
    pub repairs: Repairs,
    /// Its NVLinks; `None` where the library has no such thing.
    pub nvlinks: Option<NvLinks>,
    /// Utilisation of the compute units, percent.
    pub utilisation_percent: Option<u32>,
    /// MIG instances on it; empty where MIG is off.
    pub mig: Vec<MigInstance>,
}

/// A MIG instance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MigInstance {
    /// Its UUID, `MIG-…`.
    pub uuid: String,
    /// Its profile such as `4g.96gb`, from its name.
    pub profile: Option<String>,
}
