//! [`CapturedFinding`]: what a captured text leaves open, and what in it cannot be of one machine.

use serde::{Deserialize, Serialize};

use crate::CpuSet;

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
    /// Tools print different numbers of GPUs.
    GpuCountsDiffer {
        /// Each tool with its number.
        counts: Vec<(String, usize)>,
    },
    /// A GPU is on one node in the matrix and on another in a list.
    GpuNodesDiffer {
        /// The GPU.
        gpu: String,
        /// Its node in the matrix.
        matrix: u32,
        /// Its node in the list.
        list: u32,
    },
    /// A GPU is on a node that `numactl -H` does not have.
    NodeMissing {
        /// The node.
        node: u32,
    },
    /// The matrix has CPUs that `numactl -H` does not have.
    CpusMissing {
        /// The CPUs.
        cpus: CpuSet,
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
            Self::GpuCountsDiffer { .. }
            | Self::GpuNodesDiffer { .. }
            | Self::NodeMissing { .. }
            | Self::CpusMissing { .. } => "machines-mixed",
        }
    }
}
