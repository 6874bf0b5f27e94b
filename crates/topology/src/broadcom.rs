//! Broadcom's PEX switches as NCCL knows them: which ports belong to a fabric of two levels, and which of its switches are linked
//! beside the tree.
//!
//! It only reads; `nccl.rs` says what NCCL makes of it.

use crate::pci::number;
use crate::{PciAddress, Sysfs};

/// Broadcom's PCI vendor number, which was LSI's.
const BROADCOM: u32 = 0x1000;

/// Fabrics that show two levels though every port reaches every other at full rate: the switch's device number, and the top four bits
/// of the subsystem's device number in the upper and in the lower level (`getBcmGen` in NCCL's src/graph/topo.cc, of June 2026).
const FABRICS: [Fabric; 2] = [
    // PEX880xx, Gen4: both levels alike.
    Fabric {
        device: 0xc010,
        upper: 0xa,
        lower: 0xa,
    },
    // PEX890xx, Gen5.
    Fabric {
        device: 0xc030,
        upper: 0x0,
        lower: 0x1,
    },
];

/// Where the module of Broadcom's that knows them lists switches that are linked beside the tree: a folder for each, with a name for
/// each other.
const LINKED: &str = "sys/kernel/pci_switch_link/virtual_switch_links";

struct Fabric {
    device: u32,
    upper: u32,
    lower: u32,
}

/// A switch of such a fabric, by the numbers of its upstream port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Level {
    /// The fabric's place in the table.
    fabric: usize,
    /// Whether it can stand above others of the fabric.
    pub(crate) is_upper: bool,
    /// Whether it can stand below one.
    is_lower: bool,
}

impl Level {
    /// What the switch with this upstream port is; `None` where it is of no such fabric, or its numbers are not shown.
    pub(crate) fn of(sysfs: &Sysfs, port: PciAddress) -> Option<Self> {
        let is_broadcoms = |name| number(sysfs, port, name) == Some(BROADCOM);
        if !is_broadcoms("vendor") || !is_broadcoms("subsystem_vendor") {
            return None;
        }
        let device = number(sysfs, port, "device")?;
        let level = number(sysfs, port, "subsystem_device")? >> 12;
        let fabric = FABRICS.iter().position(|fabric| fabric.device == device)?;
        Some(Self {
            fabric,
            is_upper: level == FABRICS[fabric].upper,
            is_lower: level == FABRICS[fabric].lower,
        })
    }

    /// Whether it is taken into an upper one.
    pub(crate) fn joins(self, upper: Self) -> bool {
        upper.is_upper && self.is_lower && self.fabric == upper.fabric
    }
}

/// The switches that are linked with this one beside the tree, by their upstream ports; none without Broadcom's module.
pub(crate) fn linked(sysfs: &Sysfs, port: PciAddress) -> Vec<PciAddress> {
    let names = sysfs.names(format!("{LINKED}/{port}"));
    // NCCL takes names of twelve letters, which is an address with a domain of four digits, of any Broadcom switch.
    let is_address = |name: &&String| name.len() == 12;
    let linked: Vec<PciAddress> = names
        .iter()
        .filter(is_address)
        .filter_map(|name| name.parse().ok())
        .collect();
    match linked.is_empty() || number(sysfs, port, "vendor") == Some(BROADCOM) {
        true => linked,
        false => Vec::new(),
    }
}
