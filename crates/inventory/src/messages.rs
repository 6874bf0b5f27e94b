//! What the parent and the inventory child say to each other, and what comes of it.

use record::Failure;
use record::{Busy, Mig};
use serde::{Deserialize, Serialize};
use topology::{NvLinks, Repairs};

use device::Built;

/// Asks what devices there are.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct InventoryRequest {
    pub(crate) backend: Built,
    /// Whether only the management library is asked, for NVLinks: for a driver that does not start.
    pub(crate) only_nvlinks: bool,
}

/// The answer, or why there is none.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub(crate) enum InventoryReply {
    Found {
        inventory: Inventory,
    },
    /// NVLinks by the PCI address that the management library gives.
    NvLinks {
        links: Vec<(String, NvLinks)>,
    },
    /// There is none to measure with.
    Absent {
        kind: Absent,
        reason: Failure,
    },
}

/// Why no driver answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Absent {
    /// Its library is not on this machine, or it has no device.
    NotThere,
    /// It is there and fails.
    Failing,
}

/// What a driver and its management library say.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Inventory {
    /// Version of the interface, such as `CUDA 12.8`.
    pub interface: Option<String>,
    /// Name of the simulated machine, where the driver is a simulated one.
    pub soft_box: Option<String>,
    /// The driver's devices in its order.
    pub devices: Vec<Found>,
    /// Version of the driver package, from the management library.
    pub driver: Option<String>,
    /// Why the management library does not answer; `None` where it does.
    pub unmanaged: Option<String>,
    /// MIG instances that the management library lists, by UUID.
    pub mig_listed: Vec<String>,
}

/// One device.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Found {
    /// The backend's own index.
    pub ordinal: usize,
    /// The vendor's name.
    pub name: String,
    /// UUID of the device or MIG instance.
    pub uuid: Option<String>,
    /// PCI address as the driver prints it.
    pub pci: Option<String>,
    /// NUMA node, where the backend itself knows it.
    pub node: Option<u32>,
    /// CPU that does its work, for the host backend.
    pub cpu: Option<usize>,
    /// Memory in bytes.
    pub memory_bytes: Option<u64>,
    /// Last-level cache of the device in bytes.
    pub cache_bytes: Option<u64>,
    /// The MIG instance, where it is one.
    pub mig: Option<Mig>,
    /// Who else uses it; `None` where nobody can say.
    pub busy: Option<Busy>,
    /// What was repaired of its memory; `None` where no management library told of it.
    pub repairs: Option<Repairs>,
    /// Its NVLinks; `None` where no management library told of them.
    pub nvlinks: Option<NvLinks>,
}
