//! [`Matrix`]: ends (GPUs, NICs, other PCI functions) and the path class between each two, wherever it was learnt: read from sysfs,
//! or from a tool's captured text.

use serde::{Deserialize, Serialize};

use crate::pci::attribute;
use crate::{CpuSet, Machine, Nic, PathType, PciAddress, PciDevice, Sysfs};

/// What an end is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EndKind {
    /// A GPU.
    Gpu,
    /// A network card.
    Nic,
}

/// One row and column of a matrix.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct End {
    /// Its name in the matrix: `GPU0`, `NIC1`.
    pub name: String,
    /// What it is.
    pub kind: EndKind,
    /// Its PCI address, where the source says it.
    pub address: Option<PciAddress>,
    /// What the system calls it: `mlx5_0`, `eth0`, a GPU's model; where the source says it.
    pub label: Option<String>,
    /// The CPUs of its NUMA node, where the source says them.
    pub cpus: Option<CpuSet>,
    /// Its NUMA node, where the source says it.
    pub node: Option<u32>,
}

/// The path class between each two ends.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Matrix {
    /// Where it was read: `sysfs`, or the tool's command such as `nvidia-smi topo -m`.
    pub source: String,
    /// Rows and columns.
    pub ends: Vec<End>,
    /// By row and column, in the order of the ends; [`PathType::Same`] on the diagonal.
    pub classes: Vec<Vec<PathType>>,
}

/// One end before it has a number.
#[derive(Debug, Clone, Copy)]
pub struct Placed<'a> {
    /// What it is.
    pub kind: EndKind,
    /// Where it sits.
    pub pci: &'a PciDevice,
    /// What the system calls it.
    pub label: Option<&'a str>,
}

impl Matrix {
    /// The class between two ends by their positions.
    #[must_use]
    pub fn class(&self, a: usize, b: usize) -> Option<PathType> {
        self.classes.get(a)?.get(b).copied()
    }

    /// The matrix of these ends; `beside` says the class of a link beside PCI Express between two GPUs, where there is one.
    #[must_use]
    pub fn of(
        sysfs: &Sysfs,
        machine: &Machine,
        ends: &[Placed<'_>],
        beside: &dyn Fn(PciAddress, PciAddress) -> Option<PathType>,
    ) -> Self {
        let class = |a: usize, b: usize| {
            let (one, other) = (&ends[a], &ends[b]);
            let are_gpus = a != b && [one, other].iter().all(|end| end.kind == EndKind::Gpu);
            let linked = are_gpus.then(|| beside(one.pci.address, other.pci.address));
            linked
                .flatten()
                .unwrap_or_else(|| one.pci.path_to(other.pci))
        };
        let row = |a| (0..ends.len()).map(|b| class(a, b)).collect();
        Self {
            source: "sysfs".to_owned(),
            ends: Placed::named(sysfs, machine, ends),
            classes: (0..ends.len()).map(row).collect(),
        }
    }
}

impl<'a> Placed<'a> {
    /// A GPU by its name, where it has one.
    #[must_use]
    pub fn gpu(pci: &'a PciDevice, label: Option<&'a str>) -> Self {
        Self {
            kind: EndKind::Gpu,
            pci,
            label,
        }
    }

    /// A network card by its label.
    #[must_use]
    pub fn nic(nic: &'a Nic, label: Option<&'a str>) -> Self {
        Self {
            kind: EndKind::Nic,
            pci: &nic.pci,
            label,
        }
    }

    /// Ends with their names, numbered by kind in their order, and their CPUs.
    fn named(sysfs: &Sysfs, machine: &Machine, ends: &[Self]) -> Vec<End> {
        let mut counts = [0_usize; 2];
        let name = |end: &Self| {
            let (prefix, count) = match end.kind {
                EndKind::Gpu => ("GPU", &mut counts[0]),
                EndKind::Nic => ("NIC", &mut counts[1]),
            };
            let name = format!("{prefix}{count}");
            *count += 1;
            End {
                name,
                kind: end.kind,
                address: Some(end.pci.address),
                label: end.label.map(str::to_owned),
                cpus: cpus(sysfs, machine, end.pci),
                node: end.pci.node,
            }
        };
        ends.iter().map(name).collect()
    }
}

/// The CPUs of its node; where the node is not known, those that the kernel calls local.
fn cpus(sysfs: &Sysfs, machine: &Machine, pci: &PciDevice) -> Option<CpuSet> {
    match pci.node.and_then(|node| machine.node(node)) {
        Some(node) => Some(node.cpus.clone()),
        None => attribute(sysfs, pci.address, "local_cpulist")?.parse().ok(),
    }
}
