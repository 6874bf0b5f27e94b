//! [`PolicyGuard`]: the memory policy of a thread for as long as the guard lives.
//!
//! It steers allocations that other code makes, such as a vendor's pinned memory. Some libraries ignore it (HIP does
//! unless `hipHostMallocNumaUser` is given), so ask [`placement`](crate::placement()) afterwards.

use std::marker::PhantomData;

use crate::error::NumaError;
use crate::ffi::{self, RawPolicy};

/// Restores the former policy of the calling thread when it is dropped.
///
/// Policies belong to threads, so it is neither `Send` nor `Sync`.
#[derive(Debug)]
pub struct PolicyGuard {
    former: RawPolicy,
    stays_on_its_thread: PhantomData<*const ()>,
}

/// Has the calling thread take memory from these nodes alone; a node that does not exist, and an empty list, are errors.
pub(crate) fn set(nodes: &[u32]) -> Result<(), NumaError> {
    let refused = |errno| NumaError::Policy {
        nodes: nodes.to_vec(),
        errno,
    };
    let mode = libc::MPOL_BIND;
    let mask = ffi::node_mask(nodes).map_err(refused)?;
    ffi::set_policy(&RawPolicy { mode, nodes: mask }).map_err(refused)
}

impl PolicyGuard {
    /// Has the calling thread take memory from one node alone.
    pub fn bind(node: u32) -> Result<Self, NumaError> {
        let former = ffi::policy().map_err(|errno| NumaError::Policy {
            nodes: vec![node],
            errno,
        })?;
        set(&[node])?;
        Ok(Self {
            former,
            stays_on_its_thread: PhantomData,
        })
    }
}

impl Drop for PolicyGuard {
    fn drop(&mut self) {
        // Nothing can be done about it here; the thread keeps the policy and later placements are proven anyway.
        let _ = ffi::set_policy(&self.former);
    }
}
