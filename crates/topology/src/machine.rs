//! [`Machine`]: everything this crate finds, read once at the start of a program.
//!
//! Link states are not in it, because they change under load: `slot.rs` reads those.

use serde::{Deserialize, Serialize};

use crate::error::TopologyError;
use crate::fact::Fact;
use crate::iommu::{self, IommuMode};
use crate::node::cpuinfo_value;
use crate::{Cpus, NumaNode, PathType, PciAddress, PciDevice, Sysfs};

/// The box that was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    /// NUMA nodes by number; none on a kernel without NUMA.
    pub nodes: Vec<NumaNode>,
    /// Processors.
    pub cpus: Cpus,
    /// Whether the CPU says that it runs under a hypervisor; `None` where it does not tell, as on Arm.
    pub hypervisor: Option<bool>,
    /// The kernel's number of this boot: two results with the same one come from the same boot of the same machine.
    pub boot_id: Option<String>,
    /// GPUs by PCI address, graphics inside an AMD processor among them.
    pub gpus: Vec<PciDevice>,
}

impl Machine {
    /// Reads the box.
    ///
    /// Absent files make absent values. An error means that there is no sysfs, or that it contradicts itself.
    pub fn read(sysfs: &Sysfs) -> Result<Self, TopologyError> {
        if sysfs.canonical("sys").is_none() {
            return Err(TopologyError::NoSysfs {
                path: sysfs.root().join("sys").display().to_string(),
            });
        }
        let cpuinfo = sysfs.read_text("proc/cpuinfo");
        Ok(Self {
            nodes: NumaNode::read_all(sysfs)?,
            cpus: Cpus::read(sysfs, cpuinfo.as_deref()),
            hypervisor: cpuinfo.as_deref().and_then(hypervisor),
            boot_id: sysfs.read_text("proc/sys/kernel/random/boot_id"),
            gpus: PciDevice::read_gpus(sysfs)?,
        })
    }

    /// The GPU at an address.
    pub fn gpu(&self, address: PciAddress) -> Option<&PciDevice> {
        self.gpus.iter().find(|gpu| gpu.address == address)
    }

    /// The NUMA node of a number.
    pub fn node(&self, id: u32) -> Option<&NumaNode> {
        self.nodes.iter().find(|node| node.id == id)
    }

    /// What the IOMMU does with the requests of a function.
    pub fn iommu(&self, sysfs: &Sysfs, address: PciAddress) -> Fact<IommuMode> {
        iommu::mode(sysfs, self.hypervisor == Some(true), address)
    }

    /// The path between two GPUs; [`PathType::Unknown`] where one of them is not in [`Machine::gpus`].
    ///
    /// Two MIG instances have the address of their GPU, so a GPU with itself is [`PathType::Same`].
    pub fn path_type(&self, a: PciAddress, b: PciAddress) -> PathType {
        match (self.gpu(a), self.gpu(b)) {
            (Some(a), Some(b)) => a.path_to(b),
            _ => PathType::Unknown,
        }
    }
}

/// The flag `hypervisor` of x86 (CPUID leaf 1, ECX bit 31); Arm has no such flag.
fn hypervisor(cpuinfo: &str) -> Option<bool> {
    let flags = cpuinfo_value(cpuinfo, "flags")?;
    Some(flags.split_whitespace().any(|flag| flag == "hypervisor"))
}
