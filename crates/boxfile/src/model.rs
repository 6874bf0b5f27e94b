//! The box file's top level and its host side: nodes, ports, segments, noise. Devices, network
//! cards, peers, what is far and faults have files of their own.

use crate::{Collective, Device, Far, Fault, Figure, Link, Nic, Peer, PeerDefault, Vendor};
use serde::{Deserialize, Serialize};

/// A described box.
///
/// A value of this type that came from one of the reading functions has been checked; one that a test changed can be
/// checked again with [`BoxFile::validate`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BoxFile {
    /// Format version, [`crate::SCHEMA`].
    pub schema: u32,
    /// Short name, as in `--sim NAME`.
    pub name: String,
    /// One line that says what the box is.
    pub title: String,
    /// Whose driver answers on this box.
    pub vendor: Vendor,
    /// Driver version text, such as `570.133.07`.
    pub driver: String,
    /// Driver API version as the vendor encodes it, such as 12080 for CUDA 12.8.
    pub driver_api: u32,
    /// Whether the box is a virtual machine.
    pub guest: bool,
    /// How the IOMMU stands; absent: the box does not show it.
    pub iommu: Option<Iommu>,
    /// CPU model as `/proc/cpuinfo` shows it.
    pub cpu_model: String,
    /// Size of the largest last-level cache of CPU 0 in KiB.
    pub last_level_cache_kib: Option<u64>,
    /// Rate of a copy that the driver stages through host memory, as a part of the slower host link's pinned rate.
    pub driver_staging_fraction: Figure,
    /// Latency in microseconds of a copy that the driver stages; without it, the sum of both devices' copy latencies.
    pub driver_staging_latency_us: Option<Figure>,
    /// NUMA nodes.
    pub node: Vec<Node>,
    /// PCI bridges.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub port: Vec<Port>,
    /// Shared capacities.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub segment: Vec<Segment>,
    /// GPUs, in the order in which the driver counts them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub device: Vec<Device>,
    /// Network cards, which only the sysfs tree shows.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub nic: Vec<Nic>,
    /// What copies lose between nodes; without any, memory is as good on every node.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub far: Vec<Far>,
    /// What holds for every pair of devices; absent means no peer access.
    pub peer_default: Option<PeerDefault>,
    /// NVLinks of each GPU to NVSwitches, as its management library tells of them; absent: it tells of none.
    pub nvlink: Option<NvLinkTable>,
    /// Pairs that differ.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub peer: Vec<Peer>,
    /// How long collectives take, one table for each library, operation and number of ranks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub collective: Vec<Collective>,
    /// Run-to-run variation; absent means none.
    pub noise: Option<Noise>,
    /// Injected faults.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fault: Vec<Fault>,
}

/// NVLinks of each GPU of a box.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NvLinkTable {
    /// Links of each GPU, 1 to 18.
    pub links: u8,
    /// NVLink's version.
    pub version: u8,
    /// Rate of one link in one direction, MB/s.
    pub mb_per_s: u32,
    /// Where these are from.
    pub source: String,
}

/// How the IOMMU of a box stands, by the words of `/sys/kernel/iommu_groups/N/type`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Iommu {
    /// It is off: there are no groups.
    #[serde(rename = "off")]
    Off,
    /// It passes addresses through.
    #[serde(rename = "identity")]
    Identity,
    /// It translates addresses.
    #[serde(rename = "DMA")]
    Translated,
}

/// A NUMA node.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Node {
    /// Node number as Linux gives it.
    pub id: u32,
    /// CPUs as a kernel list: `0-127,256-383`; may be empty.
    pub cpus: String,
    /// Distances to all nodes, in the order of the `[[node]]` tables; 10 is local.
    pub distances: Vec<u32>,
    /// Memory in GiB.
    pub memory_gib: u64,
}

/// A PCI bridge: root port, switch port, or a port of a card's own switch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Port {
    /// PCI address.
    pub address: String,
    /// Address of the port above, or a root such as `pci0000:20`.
    pub parent: String,
    /// PCI vendor and device id in hexadecimal: `1022:1483`.
    pub pci_id: String,
    /// NUMA node, or absent where the firmware does not say.
    pub node: Option<u32>,
    /// The link that sysfs shows at this port, under load.
    pub link: Option<Link>,
    /// What the port shows as maximum.
    pub maximum: Option<Link>,
    /// Whether Access Control Services send peer requests up to the root; absent: the box does not show config space.
    pub acs_redirect: Option<bool>,
}

/// A capacity that every copy whose route names it shares.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Segment {
    /// Name by which routes refer to it.
    pub id: String,
    /// Capacity, decimal GB/s.
    pub gbps: Figure,
    /// Whether each direction has that capacity of its own; otherwise both directions share it.
    pub duplex: bool,
}

/// Run-to-run variation of copies and collectives.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Noise {
    /// Coefficient of variation: every copy's duration is multiplied by 1 + cv z, z normal and cut at 3.
    pub cv: f64,
    /// Probability that a copy is slow besides.
    pub slow_fraction: f64,
    /// What a slow copy takes longer: its duration is multiplied by 1 + this.
    pub slow_extra: f64,
    /// Seed of the generator.
    pub seed: u64,
}

/// What ports, devices and network cards have in common.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Function<'a> {
    /// The table that it stands in, and its place there.
    pub(crate) table: (&'static str, usize),
    pub(crate) address: &'a String,
    pub(crate) parent: &'a String,
    pub(crate) pci_id: &'a str,
    pub(crate) class: &'a str,
    pub(crate) node: Option<u32>,
    pub(crate) link: Option<Link>,
    pub(crate) maximum: Option<Link>,
}

impl BoxFile {
    /// Every PCI function: ports, then devices, then network cards.
    pub(crate) fn functions(&self) -> impl Iterator<Item = Function<'_>> {
        let ports = self.port.iter().enumerate().map(|(at, port)| Function {
            table: ("port", at),
            address: &port.address,
            parent: &port.parent,
            pci_id: &port.pci_id,
            class: "060400",
            node: port.node,
            link: port.link,
            maximum: port.maximum,
        });
        let devices = self.device.iter().enumerate();
        let devices = devices.map(|(at, device)| Function {
            table: ("device", at),
            address: &device.address,
            parent: &device.parent,
            pci_id: &device.pci_id,
            class: &device.class,
            node: device.node,
            link: device.link,
            maximum: device.maximum,
        });
        let nics = self.nic.iter().enumerate().map(|(at, nic)| Function {
            table: ("nic", at),
            address: &nic.address,
            parent: &nic.parent,
            pci_id: &nic.pci_id,
            class: &nic.class,
            node: nic.node,
            link: nic.link,
            maximum: nic.maximum,
        });
        ports.chain(devices).chain(nics)
    }

    /// The port with this address.
    #[must_use]
    pub fn port_at(&self, address: &str) -> Option<&Port> {
        self.port.iter().find(|port| port.address == address)
    }

    /// The two ends of the link between slot and card, upper end first, as far as the box has ports there.
    ///
    /// For an AMD card whose own switch (two ports of vendor 1002 directly above the GPU) stands between, that is the port
    /// above the card and the switch's upper port; otherwise the port above and the device function.
    #[must_use]
    pub fn slot_ends(&self, device: usize) -> Vec<&str> {
        let Some(device) = self.device.get(device) else {
            return Vec::new();
        };
        let on_card = |address: &str| {
            self.port_at(address)
                .filter(|port| port.pci_id.starts_with("1002:"))
        };
        let (card_end, above) =
            match on_card(&device.parent).and_then(|lower| on_card(&lower.parent)) {
                Some(upper) => (upper.address.as_str(), upper.parent.as_str()),
                None => (device.address.as_str(), device.parent.as_str()),
            };
        self.port_at(above)
            .map(|port| port.address.as_str())
            .into_iter()
            .chain([card_end])
            .collect()
    }

    /// The link between slot and card under load, as the card's end shows it; absent where the box does not say.
    #[must_use]
    pub fn slot_link(&self, device: usize) -> Option<Link> {
        let card_end = *self.slot_ends(device).last()?;
        match self.port_at(card_end) {
            Some(port) => port.link,
            None => self.device.get(device)?.link,
        }
    }
}
