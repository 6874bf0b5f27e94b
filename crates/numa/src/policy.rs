//! [`PolicyGuard`]: the memory policy of a thread for as long as the guard lives.
//!
//! It steers allocations that other code makes, such as a vendor's pinned memory. Some libraries ignore it (HIP does
//! unless `hipHostMallocNumaUser` is given), so ask [`placement`](crate::placement()) afterwards.

use std::fmt;
use std::marker::PhantomData;

use crate::error::NumaError;
use crate::ffi::{self, RawPolicy};

/// Where the kernel takes memory from when a thread touches a page for the first time (set_mempolicy(2)).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MemoryPolicy {
    /// The node the thread runs on, others when it is full.
    Default,
    /// These nodes and no other; the process is killed when they are full.
    Bind(Vec<u32>),
    /// This node, others when it is full.
    Preferred(u32),
    /// These nodes in turn, page by page.
    Interleave(Vec<u32>),
}

/// Sets the memory policy of the calling thread and restores the former one when dropped.
///
/// It stays on its thread. Restoring on drop cannot report a failure; [`PolicyGuard::restore`] does.
#[derive(Debug)]
pub struct PolicyGuard {
    /// `None` once it is restored.
    former: Option<RawPolicy>,
    /// A raw pointer is neither `Send` nor `Sync`: the policy belongs to one thread.
    stays_on_its_thread: PhantomData<*const ()>,
}

impl MemoryPolicy {
    fn mode(&self) -> libc::c_int {
        match self {
            Self::Default => libc::MPOL_DEFAULT,
            Self::Bind(_) => libc::MPOL_BIND,
            Self::Preferred(_) => libc::MPOL_PREFERRED,
            Self::Interleave(_) => libc::MPOL_INTERLEAVE,
        }
    }

    fn nodes(&self) -> &[u32] {
        match self {
            Self::Default => &[],
            Self::Bind(nodes) | Self::Interleave(nodes) => nodes,
            Self::Preferred(node) => std::slice::from_ref(node),
        }
    }
}

impl fmt::Display for MemoryPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::Bind(nodes) => write!(f, "bind to nodes {nodes:?}"),
            Self::Preferred(node) => write!(f, "prefer node {node}"),
            Self::Interleave(nodes) => write!(f, "interleave nodes {nodes:?}"),
        }
    }
}

impl PolicyGuard {
    /// Sets the policy of the calling thread; a node that does not exist, and an empty list of nodes, are errors.
    pub fn set(policy: &MemoryPolicy) -> Result<Self, NumaError> {
        let refuse = |errno| NumaError::Policy {
            policy: policy.to_string(),
            errno,
        };
        let nodes = ffi::node_mask(policy.nodes()).map_err(refuse)?;
        let former = ffi::policy().map_err(refuse)?;
        let mode = policy.mode();
        ffi::set_policy(&RawPolicy { mode, nodes }).map_err(refuse)?;
        Ok(Self {
            former: Some(former),
            stays_on_its_thread: PhantomData,
        })
    }

    /// Restores the former policy now and says whether that worked.
    pub fn restore(mut self) -> Result<(), NumaError> {
        self.put_back()
    }

    fn put_back(&mut self) -> Result<(), NumaError> {
        let Some(former) = self.former.take() else {
            return Ok(());
        };
        ffi::set_policy(&former).map_err(|errno| NumaError::Policy {
            policy: "that stood before".into(),
            errno,
        })
    }
}

impl Drop for PolicyGuard {
    fn drop(&mut self) {
        // Nothing can be done about it here; the thread keeps the policy and later placements are proven anyway.
        let _ = self.put_back();
    }
}
