//! [`Proof`]: what became of memory that was wanted on each node; its JSON is an interface.

use std::collections::{BTreeMap, BTreeSet};

use ::numa::{NumaError, PagePlacement};
use serde::Serialize;
use topology::CpuSet;

/// Version of the JSON.
const SCHEMA: u32 = 1;

/// Everything that was tried.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Proof {
    pub(super) schema: u32,
    /// Size of a page.
    pub(super) page_bytes: usize,
    /// What was wanted on each node.
    pub(super) bytes: usize,
    pub(super) nodes: Vec<NodeProof>,
    /// Pages in turn on all nodes; `None` where only one node was asked for.
    pub(super) interleave: Option<Outcome>,
    /// A node that does not exist, which the kernel has to refuse; `None` where one node was asked for.
    pub(super) absent_node: Option<AbsentNode>,
}

/// One node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct NodeProof {
    pub(super) node: u32,
    /// `None` where the kernel shows no such node; empty on a node that has memory only.
    pub(super) cpus: Option<CpuSet>,
    pub(super) memory_bytes: Option<u64>,
    /// Memory bound to the node (mbind(2)), moved to each other node, and asked about each time.
    pub(super) outcome: Outcome,
    /// Memory of a thread that prefers the node (set_mempolicy(2)).
    pub(super) preferred: Outcome,
}

/// A number that no node has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct AbsentNode {
    pub(super) node: u32,
    pub(super) outcome: Outcome,
}

/// What became of memory that was wanted somewhere.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub(super) enum Outcome {
    /// The kernel says that every page is there.
    Proven {
        /// The call by which it said so.
        by: &'static str,
        /// Pages it was asked about.
        pages: u64,
        /// Pages that were on each other node after they were moved there.
        moved_to: BTreeMap<u32, u64>,
        /// Why pages were not moved to a node, or where they were instead.
        #[serde(skip_serializing_if = "BTreeMap::is_empty")]
        not_moved: BTreeMap<u32, Refusal>,
    },
    /// In turn on each of the nodes.
    Interleaved {
        /// The call by which the kernel said so.
        by: &'static str,
        /// Pages by node.
        on: BTreeMap<u32, u64>,
    },
    /// The memory is there, and the kernel says that it is somewhere else.
    Elsewhere {
        /// The call by which it said so.
        by: &'static str,
        /// Pages it was asked about.
        pages: u64,
        /// Pages by node.
        on: BTreeMap<u32, u64>,
        /// Pages without an answer.
        unanswered: u64,
    },
    /// There is no memory: a call was refused.
    Refused(Refusal),
    /// There is memory, and the kernel does not say where.
    NotProven(Refusal),
    /// It was not tried.
    NotTried {
        /// Why.
        reason: String,
    },
}

/// Why a call gave nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Refusal {
    pub(super) call: Option<&'static str>,
    /// The kernel's name of the reason, or its number where it has another one.
    pub(super) errno: Option<String>,
    pub(super) reason: String,
}

impl From<&NumaError> for Refusal {
    fn from(error: &NumaError) -> Self {
        let name = |errno: ::numa::Errno| {
            errno
                .name()
                .map_or_else(|| errno.0.to_string(), str::to_owned)
        };
        Self {
            call: error.call(),
            errno: error.errno().map(name),
            reason: error.to_string(),
        }
    }
}

impl Outcome {
    /// What the kernel's answer means for memory that was wanted on a node.
    pub(super) fn of(answer: Result<&PagePlacement, &NumaError>, node: u32) -> Self {
        match answer {
            Err(error) => Self::NotProven(error.into()),
            Ok(placed) if placed.single_node() == Some(node) => Self::Proven {
                by: placed.by,
                pages: placed.asked,
                moved_to: BTreeMap::new(),
                not_moved: BTreeMap::new(),
            },
            Ok(placed) => Self::elsewhere(placed),
        }
    }

    /// Where the pages are, whatever was wanted.
    pub(super) fn elsewhere(placed: &PagePlacement) -> Self {
        Self::Elsewhere {
            by: placed.by,
            pages: placed.asked,
            on: placed.per_node.clone(),
            unanswered: placed.not_present + placed.unanswered.values().sum::<u64>(),
        }
    }

    /// The call by which the kernel said where it is; `None` where it did not.
    fn by(&self) -> Option<&'static str> {
        match self {
            Self::Proven { by, .. } | Self::Interleaved { by, .. } | Self::Elsewhere { by, .. } => {
                Some(by)
            }
            Self::Refused(_) | Self::NotProven(_) | Self::NotTried { .. } => None,
        }
    }

    /// Whether the kernel has said that it is as it was wanted, moves among it.
    fn is_proven(&self) -> bool {
        match self {
            Self::Proven { not_moved, .. } => not_moved.is_empty(),
            Self::Interleaved { .. } => true,
            Self::Elsewhere { .. }
            | Self::Refused(_)
            | Self::NotProven(_)
            | Self::NotTried { .. } => false,
        }
    }
}

impl Proof {
    pub(super) fn new(bytes: usize, page_bytes: usize) -> Self {
        Self {
            schema: SCHEMA,
            page_bytes,
            bytes,
            nodes: Vec::new(),
            interleave: None,
            absent_node: None,
        }
    }

    /// The calls by which the kernel said where anything is.
    pub(super) fn by(&self) -> BTreeSet<&'static str> {
        let outcomes = self
            .nodes
            .iter()
            .flat_map(|node| [&node.outcome, &node.preferred]);
        outcomes
            .chain(&self.interleave)
            .filter_map(Outcome::by)
            .collect()
    }

    /// Whether everything is where it was wanted, and the node that does not exist was refused.
    pub(super) fn is_whole(&self) -> bool {
        let node = |node: &NodeProof| node.outcome.is_proven() && node.preferred.is_proven();
        let absent = |absent: &AbsentNode| matches!(&absent.outcome, Outcome::Refused(refusal) if refusal.errno.as_deref() == Some("EINVAL"));
        !self.nodes.is_empty()
            && self.nodes.iter().all(node)
            && self.interleave.as_ref().is_none_or(Outcome::is_proven)
            && self.absent_node.as_ref().is_none_or(absent)
    }
}
