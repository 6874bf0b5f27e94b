//! [`Matrix`]: ends (GPUs, NICs, other PCI functions) and the path class between each two, wherever it was learnt: read from sysfs,
//! or from a tool's captured text.

use serde::{Deserialize, Serialize};

use crate::{CpuSet, PathType, PciAddress};

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

impl Matrix {
    /// The class between two ends by their positions.
    #[must_use]
    pub fn class(&self, a: usize, b: usize) -> Option<PathType> {
        self.classes.get(a)?.get(b).copied()
    }
}
