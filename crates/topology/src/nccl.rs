//! [`NcclPlace`]: where NCCL sees a PCI function, and the path class that it computes between two of them.
//!
//! It differs from `nvidia-smi`'s. What NCCL does with a class (peer copies or host memory) is not told here.

use crate::nic::is_network;
use crate::pci::node;
use crate::{PathType, PciAddress, PciDevice, Sysfs};

/// Where NCCL sees a function: it follows the folders of sysfs upwards, two at a time, so that of a switch it takes the upstream
/// port, until it comes to something that is no PCI address of four digits; what is there counts as a processor, named by the NUMA
/// node of the last function (`ncclTopoGetXmlFromSys` in NCCL's src/graph/xml.cc).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NcclPlace {
    address: PciAddress,
    is_network: bool,
    /// Upstream ports, the nearest first.
    switches: Vec<PciAddress>,
    /// The node of the topmost; `None` is -1, which NCCL takes for a node like any other.
    node: Option<u32>,
}

impl NcclPlace {
    /// Where NCCL sees a function.
    #[must_use]
    pub fn of(sysfs: &Sysfs, pci: &PciDevice) -> Self {
        // A domain of five digits is no address to NCCL, so that it sees no switch there.
        let above = pci
            .chain
            .iter()
            .rev()
            .take_while(|port| port.domain <= 0xffff);
        let switches: Vec<PciAddress> = above.skip(1).step_by(2).copied().collect();
        let top = switches.last().copied();
        Self {
            address: pci.address,
            is_network: is_network(pci),
            node: top.map_or(pci.node, |top| node(sysfs, top)),
            switches,
        }
    }

    /// The class between two functions: [`PathType::Same`] where NCCL says LOC, else PIX, PXB, PHB or SYS.
    ///
    /// One switch is PIX, several are PXB, one NUMA node is PHB however many host bridges it has, and the rest SYS. The ports of
    /// one network card are one device to NCCL (`ncclIbGetPciPath` in src/transport/net_ib.cc).
    #[must_use]
    pub fn class_to(&self, other: &Self) -> PathType {
        let is_one_card =
            self.is_network && other.is_network && self.address.same_device(other.address);
        if self.address == other.address || is_one_card {
            return PathType::Same;
        }
        let shared = self.switches.iter().enumerate().find_map(|(up, switch)| {
            let other_up = other.switches.iter().position(|other| other == switch)?;
            Some(up.max(other_up))
        });
        match shared {
            Some(0) => PathType::Pix,
            Some(_) => PathType::Pxb,
            None if self.node == other.node => PathType::Phb,
            None => PathType::Sys,
        }
    }
}
