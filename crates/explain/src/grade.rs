//! How good evidence is, from a direct measurement down to prior knowledge.

use serde::{Deserialize, Serialize};

/// How good the evidence of a figure is; the better one is the smaller.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Grade {
    /// A trace, or a run of the 1/N shard.
    A,
    /// Only the link was varied, and the step followed.
    B,
    /// A curve of this machine times the count of calls.
    C,
    /// Prior knowledge only.
    D,
}

impl std::fmt::Display for Grade {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            Self::A => "A",
            Self::B => "B",
            Self::C => "C",
            Self::D => "D",
        })
    }
}
