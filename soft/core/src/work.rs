//! What a stream is given to do: copies, kernels, gates and the work of other libraries, captured or under way.

use crate::Kernel;
use crate::faults::Damage;
use crate::foreign::Foreign;
use crate::memory::{HostMemory, Place};

/// One captured operation.
#[derive(Clone)]
pub(crate) enum Node {
    Copy(Copy),
    Kernel(Kernel),
    Foreign(Foreign),
}

/// A capture under way.
#[derive(Default)]
pub(crate) struct Capture {
    pub(crate) nodes: Vec<Node>,
    /// A call was made that a capture cannot take.
    pub(crate) spoiled: bool,
}

/// A gate that was issued.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Gate {
    pub(crate) flag: u64,
    pub(crate) answer: u64,
    pub(crate) opened: bool,
}

/// A copy, checked when it was asked for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Copy {
    pub(crate) to: Place,
    pub(crate) from: Place,
    pub(crate) bytes: usize,
    /// What its host memory was, if it has any.
    pub(crate) host: Option<HostMemory>,
}

impl Copy {
    /// Whether the call that asks for it returns before it has ended.
    pub(crate) fn is_asynchronous(self) -> bool {
        self.host != Some(HostMemory::Pageable)
    }

    /// Between places that were checked.
    pub(crate) fn between(to: Place, from: Place, bytes: usize) -> Self {
        Self {
            to,
            from,
            bytes,
            host: None,
        }
    }
}

/// What happens to bytes when an operation ends.
pub(crate) enum Transfer {
    Copy(Copy, Option<Damage>),
    /// What a kernel does to words, with its device, and whether it goes wrong.
    Words(Kernel, usize, bool),
    Gate(Gate),
    /// Work of another library, with its number for this execution.
    Foreign(Foreign, u64),
}

/// Whether moving bytes may really wait a little for another process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Patience {
    None,
    Short,
}
