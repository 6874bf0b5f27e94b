//! [`KfdNode`]: processors and GPUs as AMD's kernel driver (KFD) sees them, with the links between them; xGMI is in no other file.

use serde::{Deserialize, Serialize};

use crate::{PathType, PciAddress, Sysfs};

const FOLDER: &str = "sys/class/kfd/kfd/topology/nodes";
const XGMI: u64 = 11;

/// A processor or a GPU.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KfdNode {
    /// The driver's number of it.
    pub id: u32,
    /// The GPU's PCI address; `None` of a processor, and of a GPU that this process may not see.
    pub address: Option<PciAddress>,
    /// Links to others.
    pub links: Vec<KfdLink>,
}

/// A link from a node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KfdLink {
    /// The node it leads to.
    pub to: u32,
    /// Whether it is xGMI; else it is PCI Express.
    pub is_xgmi: bool,
}

impl KfdNode {
    /// Every node by its number; none where the driver is not loaded.
    #[must_use]
    pub fn read_all(sysfs: &Sysfs) -> Vec<Self> {
        let names = sysfs.names(FOLDER);
        let mut ids: Vec<u32> = names.iter().filter_map(|name| name.parse().ok()).collect();
        ids.sort_unstable();
        ids.into_iter().map(|id| Self::read(sysfs, id)).collect()
    }

    fn read(sysfs: &Sysfs, id: u32) -> Self {
        let folder = format!("{FOLDER}/{id}");
        let text = sysfs
            .read_text(format!("{folder}/properties"))
            .unwrap_or_default();
        let is_gpu = value(&text, "simd_count").is_some_and(|count| count > 0);
        let place = || address(value(&text, "domain")?, value(&text, "location_id")?);
        Self {
            id,
            address: is_gpu.then(place).flatten(),
            links: ["io_links", "p2p_links"]
                .into_iter()
                .flat_map(|name| read_links(sysfs, &format!("{folder}/{name}")))
                .collect(),
        }
    }
}

/// The class of a pair of GPUs that xGMI joins.
#[must_use]
pub fn xgmi(nodes: &[KfdNode], a: PciAddress, b: PciAddress) -> Option<PathType> {
    let joins = |a: PciAddress, b: PciAddress| {
        let node = |address| nodes.iter().find(|node| node.address == Some(address));
        let to = node(b)?.id;
        let mut links = node(a)?.links.iter();
        links.find(|link| link.to == to && link.is_xgmi)
    };
    joins(a, b).or_else(|| joins(b, a)).map(|_| PathType::Xgmi)
}

fn read_links(sysfs: &Sysfs, folder: &str) -> Vec<KfdLink> {
    let link = |name: &String| {
        let text = sysfs.read_text(format!("{folder}/{name}/properties"))?;
        Some(KfdLink {
            to: u32::try_from(value(&text, "node_to")?).ok()?,
            is_xgmi: value(&text, "type")? == XGMI,
        })
    };
    let mut links: Vec<KfdLink> = sysfs.names(folder).iter().filter_map(link).collect();
    links.sort_by_key(|link| link.to);
    links
}

/// The value of a line `weight 40`.
fn value(text: &str, key: &str) -> Option<u64> {
    text.lines().find_map(|line| {
        let (name, value) = line.trim().split_once(' ')?;
        (name == key).then(|| value.trim().parse().ok()).flatten()
    })
}

/// From the PCI domain and the location, which is bus, device and function in 8, 5 and 3 bits.
fn address(domain: u64, location: u64) -> Option<PciAddress> {
    let location = u16::try_from(location).ok()?;
    let [bus, rest] = location.to_be_bytes();
    Some(PciAddress {
        domain: u32::try_from(domain).ok()?,
        bus,
        device: rest >> 3,
        function: rest & 7,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_location_is_bus_device_and_function() {
        // 0x0300 = 768: bus 3, device 0, function 0; 0xc50a: bus c5, 0x0a = 00001_010: device 1, function 2.
        for (domain, location, shown) in [(0, 768, "0000:03:00.0"), (1, 0xc50a, "0001:c5:01.2")] {
            assert_eq!(address(domain, location).unwrap().to_string(), shown);
        }
        assert_eq!(address(0, 0x1_0000), None);
        assert_eq!(address(1 << 32, 0), None);
    }
}
