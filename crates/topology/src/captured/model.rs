//! [`Captured`]: all that a captured text says.

use serde::{Deserialize, Serialize};

use super::CapturedFinding;
use crate::{Matrix, NumaNode, PciAddress};

/// What a text with the output of one or more tools says; what it does not say is empty.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Captured {
    /// The tools whose output was found, in the text's order, each once: `nvidia-smi topo -m`.
    pub sources: Vec<String>,
    /// The path class of each two ends, from `nvidia-smi topo -m`, `mx-smi topo`, or the link types of AMD's tools.
    pub matrix: Option<Matrix>,
    /// Tables of one word for each pair: weight, hops, link type, peer status.
    pub tables: Vec<PairTable>,
    /// What lists say of GPUs: `nvidia-smi -L`, `mx-smi -L`, the addresses of `amd-smi` and the nodes of `rocm-smi`; by number.
    pub gpus: Vec<NamedGpu>,
    /// NUMA nodes, from `numactl -H`.
    pub nodes: Vec<NumaNode>,
    /// What the text leaves open, such as rows that a partial matrix lacks.
    pub open: Vec<CapturedFinding>,
}

/// One word for each two ends.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PairTable {
    /// The tool that printed it.
    pub source: String,
    /// What the words are, in lower case: `weight`, `hops`, `link type`, `access`, `peer status`, or with the question
    /// where the command stands above the output `peer status (read)`.
    pub about: String,
    /// Rows and columns, as the tool names them: `GPU0`, `0000:03:00.0`.
    pub ends: Vec<String>,
    /// By row and column, as printed; `None` in rows that the text lacks.
    pub cells: Vec<Vec<Option<String>>>,
}

/// What a tool's list says of a GPU.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NamedGpu {
    /// The tool's number.
    pub number: u32,
    /// The model.
    pub name: Option<String>,
    /// Its UUID, such as `GPU-2927d07e-...`.
    pub uuid: Option<String>,
    /// Its PCI address; `nvidia-smi -L` does not print it.
    pub address: Option<PciAddress>,
    /// Its NUMA node; only `rocm-smi` prints it apart from a matrix.
    pub node: Option<u32>,
    /// Its MIG devices.
    pub mig: Vec<MigDevice>,
}

/// A MIG device of a GPU.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MigDevice {
    /// Its number on the GPU.
    pub number: u32,
    /// Its profile: `1g.10gb`, `4g.96gb`.
    pub profile: String,
    /// Its UUID: `MIG-6e95ef19-...`.
    pub uuid: String,
}

impl Captured {
    /// The table of this content, such as `hops`, the first where several tools printed one.
    #[must_use]
    pub fn table(&self, about: &str) -> Option<&PairTable> {
        self.tables.iter().find(|table| table.about == about)
    }

    /// The GPU of this number in a tool's list, a new one where no list has told it yet.
    pub(super) fn gpu(&mut self, number: u32) -> &mut NamedGpu {
        let at = match self.gpus.binary_search_by_key(&number, |gpu| gpu.number) {
            Ok(at) => at,
            Err(at) => {
                self.gpus.insert(at, NamedGpu::numbered(number));
                at
            }
        };
        &mut self.gpus[at]
    }
}

impl NamedGpu {
    /// A GPU of which nothing but its number is known.
    pub(super) fn numbered(number: u32) -> Self {
        Self {
            number,
            name: None,
            uuid: None,
            address: None,
            node: None,
            mig: Vec::new(),
        }
    }
}

impl PairTable {
    /// The word between two ends by their positions.
    #[must_use]
    pub fn cell(&self, a: usize, b: usize) -> Option<&str> {
        self.cells.get(a)?.get(b)?.as_deref()
    }
}
