//! [`PolicyGuard`]: the memory policy of a thread for as long as the guard lives.
//!
//! It steers allocations that other code makes, such as a vendor's pinned memory. Some libraries ignore it (HIP does
//! unless `hipHostMallocNumaUser` is given), so ask [`placement`](crate::placement()) afterwards.

use std::fmt;
use std::marker::PhantomData;

use crate::error::{Errno, NumaError};
use crate::ffi::{self, RawPolicy};

/// Of linux/mempolicy.h; not every release of `libc` has it.
const MPOL_PREFERRED_MANY: libc::c_int = 5;

/// Where the kernel takes memory from when a thread touches a page for the first time (set_mempolicy(2)).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MemoryPolicy {
    /// The node the thread runs on, others when it is full.
    Default,
    /// These nodes and no other; the process is killed when they are full.
    Bind(Vec<u32>),
    /// This node, others when it is full.
    Preferred(u32),
    /// These nodes, the nearest of them first, others when they are full; Linux 5.15 and newer.
    PreferredMany(Vec<u32>),
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
    /// Sets it for the calling thread and for what it starts from now on.
    pub(crate) fn set(&self) -> Result<(), NumaError> {
        let nodes = ffi::node_mask(self.nodes()).map_err(|errno| self.refused(errno))?;
        let mode = self.mode();
        ffi::set_policy(&RawPolicy { mode, nodes }).map_err(|errno| self.refused(errno))
    }

    fn refused(&self, errno: Errno) -> NumaError {
        NumaError::Policy {
            policy: self.to_string(),
            errno,
        }
    }

    fn mode(&self) -> libc::c_int {
        match self {
            Self::Default => libc::MPOL_DEFAULT,
            Self::Bind(_) => libc::MPOL_BIND,
            Self::Preferred(_) => libc::MPOL_PREFERRED,
            Self::PreferredMany(_) => MPOL_PREFERRED_MANY,
            Self::Interleave(_) => libc::MPOL_INTERLEAVE,
        }
    }

    fn nodes(&self) -> &[u32] {
        match self {
            Self::Default => &[],
            Self::Bind(nodes) | Self::PreferredMany(nodes) | Self::Interleave(nodes) => nodes,
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
            Self::PreferredMany(nodes) => write!(f, "prefer nodes {nodes:?}"),
            Self::Interleave(nodes) => write!(f, "interleave nodes {nodes:?}"),
        }
    }
}

impl PolicyGuard {
    /// Sets the policy of the calling thread; a node that does not exist, and an empty list of nodes, are errors.
    pub fn set(policy: &MemoryPolicy) -> Result<Self, NumaError> {
        let former = ffi::policy().map_err(|errno| policy.refused(errno))?;
        policy.set()?;
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
