//! [`CapturedFinding`]: what a captured text leaves open.

use serde::{Deserialize, Serialize};

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
