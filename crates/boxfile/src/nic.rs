//! The `[[nic]]` tables: network cards, which only the sysfs tree shows.

use crate::Link;
use serde::{Deserialize, Serialize};

/// One function of a network card.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Nic {
    /// PCI address, lower case with domain and function: `0000:c1:00.0`.
    pub address: String,
    /// Address of the port above, or a root such as `pci0000:c0`.
    pub parent: String,
    /// PCI vendor and device id in hexadecimal: `15b3:101d`.
    pub pci_id: String,
    /// PCI class in hexadecimal: `020000` for Ethernet, `020700` for InfiniBand.
    pub class: String,
    /// NUMA node, or absent where the firmware does not say (sysfs then shows -1).
    pub node: Option<u32>,
    /// Link as the function shows it; absent where a guest cannot read it.
    pub link: Option<Link>,
    /// What the function shows as maximum.
    pub maximum: Option<Link>,
    /// Name of its network interface, such as `eth0`; absent: it has none.
    pub interface: Option<String>,
    /// Name of its RDMA device, such as `mlx5_0`; absent: it has none, and then no `port`.
    pub rdma: Option<String>,
    /// The RDMA device's one port.
    pub port: Option<NicPort>,
}

/// Port 1 of an RDMA device, in the kernel's words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NicPort {
    /// Its logical state.
    pub state: PortState,
    /// What the other end of the cable speaks.
    pub link_layer: LinkLayer,
    /// Its rate in the kernel's words, such as `100 Gb/sec (4X EDR)`.
    pub rate: String,
}

/// Logical states of a port, by the words of `ports/N/state`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum PortState {
    /// There is no link.
    #[serde(rename = "DOWN")]
    Down,
    /// There is a link, and nobody manages it yet.
    #[serde(rename = "INIT")]
    Init,
    /// It can be used.
    #[serde(rename = "ACTIVE")]
    Active,
}

impl PortState {
    /// The lines of `state` and `phys_state` (drivers/infiniband/core/sysfs.c).
    pub(crate) fn lines(self) -> (&'static str, &'static str) {
        match self {
            Self::Down => ("1: DOWN", "3: Disabled"),
            Self::Init => ("2: INIT", "5: LinkUp"),
            Self::Active => ("4: ACTIVE", "5: LinkUp"),
        }
    }
}

/// Link layers, by the words of `ports/N/link_layer`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum LinkLayer {
    /// Ethernet: RoCE.
    Ethernet,
    /// InfiniBand.
    InfiniBand,
}

impl LinkLayer {
    /// The kernel's word.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Ethernet => "Ethernet",
            Self::InfiniBand => "InfiniBand",
        }
    }
}
