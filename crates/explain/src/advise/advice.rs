//! A piece of advice, and the rules that there are.

use serde::{Deserialize, Serialize};

use crate::range::Range;

/// What to do, what it brings and how to see that.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Advice {
    /// Which rule says so, with what it saw.
    pub rule: Rule,
    /// What it would bring; `None` where no arithmetic says.
    pub effect: Option<Effect>,
    /// Commands that show it, one after the other.
    #[serde(default)]
    pub commands: Vec<String>,
}

/// What advice brings: times the step rate of one GPU.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Effect {
    /// How many times.
    pub times: Range,
    /// Whether that is an upper figure: if all of what it acts on went away.
    pub at_most: bool,
}

impl Effect {
    pub(super) fn bound(times: Range) -> Self {
        Self {
            times,
            at_most: true,
        }
    }
}

/// A rule with what it saw.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case")]
#[expect(missing_docs, reason = "fields are named by what they hold")]
pub enum Rule {
    /// MIG instances have no peer access: use whole GPUs.
    MigWithoutPeers,
    /// One-GPU replicas may give more tokens a second.
    Replicas {
        replicas: u32,
        times: Range,
        in_flight: u32,
    },
    /// The driver denies peer access, or reports it and stages copies.
    ThroughHost {
        guest: bool,
        redirects: bool,
        translates: bool,
    },
    /// A variable keeps the library from peer access.
    LibraryToldOff { variable: String, value: String },
    /// The engine's own all-reduce is for two GPUs on PCIe.
    CustomAllReduceGated { replicas: u32 },
    /// The engine's own all-reduce is off by a flag.
    CustomAllReduceByFlag,
    /// Kernels lose more than links.
    KernelsFirst { gemm_ms: Range },
    /// A link runs below what card and slot can do.
    LinkTrainedDown {
        device: String,
        now: String,
        most: String,
    },
    /// Another pair of GPUs is faster.
    OtherPair { a: String, b: String },
    /// No graphs, or none of this batch.
    Eager { largest_graph: Option<u32> },
    /// Threads run on nodes that no GPU of theirs hangs on.
    ThreadsElsewhere { nodes: Vec<u32>, share: f64 },
    /// Free links would bring next to nothing.
    NothingToGain,
}

impl Rule {
    /// Whether it rests on the shard run, so that it falls where that is contradicted.
    pub(crate) fn is_by_half(&self) -> bool {
        matches!(self, Self::KernelsFirst { .. } | Self::NothingToGain)
    }
}
