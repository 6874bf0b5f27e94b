//! The matrices of a machine that sysfs shows: as `nvidia-smi topo -m` names the classes, and as NCCL computes them.

use crate::nccl::NcclTree;
use crate::pci::attribute;
use crate::{CpuSet, End, EndKind, Machine, Matrix, Nic, PathType, PciAddress, PciDevice, Sysfs};

/// What the two matrices name as their source.
const SOURCES: [&str; 2] = ["sysfs", "sysfs, as NCCL computes"];

/// Matrices of GPUs, NICs and other functions, in this order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Matrices {
    /// As `nvidia-smi topo -m` names the classes.
    pub smi: Matrix,
    /// As NCCL computes them; its LOC is [`PathType::Same`].
    pub nccl: Matrix,
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

impl Matrices {
    /// The most ends that a matrix has; a machine has tens, and one with every function a few hundred.
    pub const MOST_ENDS: usize = 512;

    /// The matrices of these ends, of the first [`Self::MOST_ENDS`] of them where there are more; `beside` says the class of a link
    /// beside PCI Express between two GPUs, where there is one.
    #[must_use]
    pub fn of(
        sysfs: &Sysfs,
        machine: &Machine,
        ends: &[Placed<'_>],
        beside: &dyn Fn(PciAddress, PciAddress) -> Option<PathType>,
    ) -> Self {
        let ends = &ends[..ends.len().min(Self::MOST_ENDS)];
        let functions: Vec<&PciDevice> = ends.iter().map(|end| end.pci).collect();
        let tree = NcclTree::of(sysfs, &functions);
        let linked = |a: usize, b: usize| {
            let are_gpus = a != b && [a, b].iter().all(|end| ends[*end].kind == EndKind::Gpu);
            are_gpus
                .then(|| beside(ends[a].pci.address, ends[b].pci.address))
                .flatten()
        };
        let classes = |class: &dyn Fn(usize, usize) -> PathType| -> Vec<Vec<PathType>> {
            let cell = |a, b| linked(a, b).unwrap_or_else(|| class(a, b));
            (0..ends.len())
                .map(|a| (0..ends.len()).map(|b| cell(a, b)).collect())
                .collect()
        };
        let [smi, nccl] = SOURCES.map(str::to_owned);
        let named = Placed::named(sysfs, machine, ends);
        Self {
            smi: Matrix {
                source: smi,
                ends: named.clone(),
                classes: classes(&|a, b| ends[a].pci.path_to(ends[b].pci)),
            },
            nccl: Matrix {
                source: nccl,
                ends: named,
                classes: classes(&|a, b| tree.class(a, b)),
            },
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
    #[must_use]
    pub fn named(sysfs: &Sysfs, machine: &Machine, ends: &[Self]) -> Vec<End> {
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
