//! The devices of a `tplens p2p` record: the driver behind them, their links as they were read, who else uses them.

use serde::{Deserialize, Serialize};
use topology::{PciAddress, PcieLink};

/// The driver behind a record.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct BackendFacts {
    /// `cuda`, `hip`, `maca` or `host`.
    pub name: String,
    /// Version of the driver package, such as `570.133.07`.
    pub driver: Option<String>,
    /// Version of the interface, such as `CUDA 12.8`.
    pub interface: Option<String>,
    /// Whether a management library answered, and if not, why.
    pub management: String,
}

/// A device that was measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LinkDevice {
    /// Label in tables: `GPU0`, `MIG0` or `HOST0`, the number being the backend's.
    pub label: String,
    /// The backend's own index.
    pub ordinal: usize,
    /// The vendor's name of it.
    pub name: String,
    /// UUID of the device or MIG instance.
    pub uuid: Option<String>,
    /// PCI address of the physical device.
    pub address: Option<PciAddress>,
    /// NUMA node it hangs on; `None` where the kernel does not say.
    pub node: Option<u32>,
    /// Memory in bytes.
    pub memory_bytes: Option<u64>,
    /// The MIG instance, where it is one.
    pub mig: Option<Mig>,
    /// The link before any load.
    pub idle: Option<LinkReading>,
    /// The link while copies ran.
    pub loaded: Option<LinkReading>,
    /// Maximum payload size in bytes; `None` where unreadable.
    pub max_payload_bytes: Option<u32>,
    /// What others do on it; `None` where nobody can say.
    pub busy: Option<Busy>,
}

/// A MIG instance.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mig {
    /// Profile such as `4g.96gb`; `None` where its name does not carry one.
    pub profile: Option<String>,
    /// UUID of the physical device.
    pub parent_uuid: Option<String>,
}

/// A link as it was read, at the device and at the slot.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct LinkReading {
    /// What the management library says of the device's own link.
    pub device: Option<PcieLink>,
    /// The narrowest link between root port and card: what the slot gives.
    pub slot: Option<PcieLink>,
    /// The link at the slot alone, which is all of the chain that a copy to a neighbour below the same switch crosses.
    pub card: Option<PcieLink>,
    /// The narrowest maximum over the same chain.
    pub slot_maximum: Option<PcieLink>,
    /// Readings that this summarises; the fastest of them is shown.
    pub readings: u32,
    /// The slower state the link fell to under load; `None` where it kept the one shown.
    pub narrowed_to: Option<PcieLink>,
    /// Why a part is missing.
    pub unreadable: Option<String>,
}

impl LinkReading {
    /// The link that limits: the slot's, or the device's own where the slot is unreadable.
    #[must_use]
    pub fn limiting(&self) -> Option<PcieLink> {
        slower(self.slot, self.device)
    }

    /// The link that limits a copy which does not go above the switch over the card.
    #[must_use]
    pub fn limiting_at_card(&self) -> Option<PcieLink> {
        slower(self.card, self.device)
    }
}

/// The slower of two links, or the one that is known.
fn slower(a: Option<PcieLink>, b: Option<PcieLink>) -> Option<PcieLink> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.slower(b)),
        (a, b) => a.or(b),
    }
}

/// Who else uses a device.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Busy {
    /// Memory in use before this run, in bytes.
    pub used_bytes: u64,
    /// Other processes on it, by name or process id.
    pub processes: Vec<String>,
    /// Utilisation of the compute units in percent, where the driver says.
    pub utilisation_percent: Option<u32>,
}
