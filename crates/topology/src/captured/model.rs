//! [`Captured`]: all that a captured text says, what it leaves open, and why one was not read.

use serde::{Deserialize, Serialize};

use crate::{Matrix, NumaNode, PciAddress};

/// Why a captured text was not read; one line that names tool, place and next step.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CapturedError {
    /// No line begins the output of a tool.
    #[error(
        "no output of a tool that is known was found; paste the whole output, its first line included, of {tools}"
    )]
    Unknown {
        /// The tools that are known.
        tools: String,
    },
    /// The output of a tool is broken, cut short, or there twice.
    #[error("{tool}, line {line}: {what}; paste the whole outputs of one machine, each once")]
    Malformed {
        /// The tool.
        tool: &'static str,
        /// The line of the text, from 1.
        line: usize,
        /// Row or column, and what is wrong there.
        what: String,
    },
}

/// An error at a line.
pub(super) fn malformed(tool: &'static str, line: usize, what: impl Into<String>) -> CapturedError {
    let what = what.into();
    CapturedError::Malformed { tool, line, what }
}

/// Something that a reader of a captured text has to know, with its figures; words for it stand elsewhere.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum CapturedFinding {
    /// The text lacks rows of a table, so that what only they say is unknown.
    RowsMissing {
        /// The tool whose table it is.
        tool: String,
        /// The ends of the rows.
        rows: Vec<String>,
    },
    /// The text ends without a line end: its last word may be cut short.
    EndMissing {
        /// The tool whose output stands last.
        tool: String,
    },
    /// A row has fewer affinities than the header has columns, and which one this is, is unknown.
    AffinityUnclear {
        /// The tool whose table it is.
        tool: String,
        /// The row.
        row: String,
        /// What stands there.
        value: String,
    },
    /// The tool does not distinguish PIX, PXB, PHB and NODE.
    ClassesCoarse {
        /// The tool.
        tool: String,
    },
}

impl CapturedFinding {
    /// The code that `help CODE` explains.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::RowsMissing { .. } | Self::EndMissing { .. } => "file-cut",
            Self::AffinityUnclear { .. } => "affinity-unclear",
            Self::ClassesCoarse { .. } => "classes-coarse",
        }
    }
}

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
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
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
                let new = NamedGpu {
                    number,
                    ..NamedGpu::default()
                };
                self.gpus.insert(at, new);
                at
            }
        };
        &mut self.gpus[at]
    }
}

impl PairTable {
    /// The word between two ends by their positions.
    #[must_use]
    pub fn cell(&self, a: usize, b: usize) -> Option<&str> {
        self.cells.get(a)?.get(b)?.as_deref()
    }
}
