//! [`PciDevice`]: a function on PCI Express, mostly a GPU, and the bridges above it, from `/sys/bus/pci/devices`.
//!
//! It knows vendors and classes by number only; names, memory sizes and drivers belong to the vendors' libraries.

use serde::{Deserialize, Serialize};

use crate::error::TopologyError;
use crate::vendor::{AMD, METAX, NVIDIA, lacks_nvlink};
use crate::{PciAddress, Sysfs};

/// Vendor and base class (the top byte of the class) of what counts as a GPU.
///
/// NVIDIA and AMD graphics cards have class 0x03 (0x0302 without display outputs), AMD Instinct from MI300 on 0x12, MetaX
/// any of display, co-processor and processing accelerator. The graphics of a management controller has another vendor.
const GPUS: &[(u16, u32)] = &[
    (NVIDIA, 0x03),
    (AMD, 0x03),
    (AMD, 0x12),
    (METAX, 0x03),
    (METAX, 0x0b),
    (METAX, 0x12),
];

/// One PCI function, and the bridges between it and the CPU.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PciDevice {
    /// Where it sits.
    pub address: PciAddress,
    /// PCI vendor number: of GPUs 0x10de NVIDIA, 0x1002 AMD, 0x9999 MetaX.
    pub vendor: u16,
    /// PCI device number.
    pub device_id: u16,
    /// Class, subclass and programming interface, such as 0x030200.
    pub class: u32,
    /// NUMA node of the device; `None` where the kernel says -1 or nothing, as it often does in virtual machines.
    pub node: Option<u32>,
    /// The bridges above the device, from the root port down to the one just above it.
    pub chain: Vec<PciAddress>,
    /// How many bridges at the end of `chain` are on the card itself: 2 on an AMD card with its own switch, else 0.
    pub on_card_bridges: usize,
    /// The root complex as the kernel names it, such as `pci0000:40`.
    pub root: String,
}

impl PciDevice {
    /// Whether the vendor is AMD, whose cards can have a switch of their own.
    pub fn is_amd(&self) -> bool {
        self.vendor == AMD
    }

    /// The bridges between the root complex and the card, without those on the card.
    pub fn chain_to_card(&self) -> &[PciAddress] {
        let outside = self.chain.len().saturating_sub(self.on_card_bridges);
        &self.chain[..outside]
    }

    /// Whether it is what counts as a GPU here.
    pub fn is_gpu(&self) -> bool {
        is_gpu(u32::from(self.vendor), self.class)
    }

    /// Whether NVLinks may lead to it, as far as its numbers say; a card that can take a bridge may have none.
    #[must_use]
    pub fn may_have_nvlink(&self) -> bool {
        self.vendor == NVIDIA && !lacks_nvlink(self.device_id)
    }

    /// Every GPU, by its address.
    pub(crate) fn read_gpus(sysfs: &Sysfs) -> Result<Vec<Self>, TopologyError> {
        let numbered = addresses(sysfs)
            .into_iter()
            .filter_map(|address| Some((address, numbers(sysfs, address)?)));
        numbered
            .filter(|(_, [vendor, _, class])| is_gpu(*vendor, *class))
            .map(|(address, numbers)| Self::read(sysfs, address, numbers))
            .collect()
    }

    /// The function at an address; `None` where it has no number of vendor, device or class.
    pub(crate) fn read_at(
        sysfs: &Sysfs,
        address: PciAddress,
    ) -> Option<Result<Self, TopologyError>> {
        numbers(sysfs, address).map(|numbers| Self::read(sysfs, address, numbers))
    }

    fn read(
        sysfs: &Sysfs,
        address: PciAddress,
        [vendor, device_id, class]: [u32; 3],
    ) -> Result<Self, TopologyError> {
        let (root, chain) = place(sysfs, address)?;
        Ok(Self {
            address,
            vendor: low_half(vendor),
            device_id: low_half(device_id),
            class,
            node: node(sysfs, address),
            on_card_bridges: on_card_bridges(sysfs, low_half(vendor), &chain),
            chain,
            root,
        })
    }
}

/// Every function's address, in order.
pub(crate) fn addresses(sysfs: &Sysfs) -> Vec<PciAddress> {
    let names = sysfs.names("sys/bus/pci/devices");
    let mut addresses: Vec<PciAddress> =
        names.iter().filter_map(|name| name.parse().ok()).collect();
    addresses.sort();
    addresses
}

/// Numbers of vendor, device and class.
fn numbers(sysfs: &Sysfs, address: PciAddress) -> Option<[u32; 3]> {
    let number = |name| number(sysfs, address, name);
    Some([number("vendor")?, number("device")?, number("class")?])
}

fn is_gpu(vendor: u32, class: u32) -> bool {
    let is_of = |&(known, base): &(u16, u32)| u32::from(known) == vendor && base == class >> 16;
    GPUS.iter().any(is_of)
}

/// The text of `/sys/bus/pci/devices/ADDRESS/NAME`.
pub(crate) fn attribute(sysfs: &Sysfs, address: PciAddress, name: &str) -> Option<String> {
    sysfs.read_text(format!("sys/bus/pci/devices/{address}/{name}"))
}

/// The NUMA node of a function; `None` where the kernel says -1 or nothing.
pub(crate) fn node(sysfs: &Sysfs, address: PciAddress) -> Option<u32> {
    attribute(sysfs, address, "numa_node").and_then(|node| node.parse().ok())
}

/// A number that sysfs writes as `0x10de`.
pub(crate) fn number(sysfs: &Sysfs, address: PciAddress, name: &str) -> Option<u32> {
    let text = attribute(sysfs, address, name)?;
    u32::from_str_radix(text.strip_prefix("0x")?, 16).ok()
}

fn low_half(value: u32) -> u16 {
    (value & 0xffff) as u16
}

/// Root complex and bridges, from where the device's link leads: `.../pci0000:40/0000:40:01.1/0000:41:00.0`.
///
/// The last root counts: a VMD has its own root below a function of another one.
fn place(sysfs: &Sysfs, address: PciAddress) -> Result<(String, Vec<PciAddress>), TopologyError> {
    let path = format!("sys/bus/pci/devices/{address}");
    let outside = || TopologyError::NoRoot { path: path.clone() };
    let real = sysfs.canonical(&path).ok_or_else(outside)?;
    let parts: Vec<&str> = real.iter().filter_map(|part| part.to_str()).collect();
    let at = parts
        .iter()
        .rposition(|part| is_root(part))
        .ok_or_else(outside)?;
    let mut chain: Vec<PciAddress> = parts[at + 1..]
        .iter()
        .filter_map(|part| part.parse().ok())
        .collect();
    match chain.pop() {
        Some(last) if last == address => Ok((parts[at].to_owned(), chain)),
        _ => Err(outside()),
    }
}

/// Whether a path component is a root complex, such as `pci0000:40` or `pci10000:00`.
fn is_root(part: &str) -> bool {
    let Some((domain, bus)) = part.strip_prefix("pci").and_then(|p| p.split_once(':')) else {
        return false;
    };
    let hex = |text: &str| text.bytes().all(|b| b.is_ascii_hexdigit());
    domain.len() >= 4 && bus.len() == 2 && hex(domain) && hex(bus)
}

/// An AMD card's switch is the pair of AMD bridges (1002:1478 and 1002:1479 on current cards) directly above the GPU.
///
/// AMD's host bridges have vendor 0x1022. A pair is asked for because old chipsets have single root ports of 0x1002.
fn on_card_bridges(sysfs: &Sysfs, vendor: u16, chain: &[PciAddress]) -> usize {
    let of_amd = |&bridge: &PciAddress| number(sysfs, bridge, "vendor") == Some(u32::from(AMD));
    match chain {
        [.., upstream, downstream] if vendor == AMD && of_amd(upstream) && of_amd(downstream) => 2,
        _ => 0,
    }
}
