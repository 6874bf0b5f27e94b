//! [`HostPages`]: memory of a node of one's choice, touched, locked where asked, and proven.
//!
//! It is ordinary anonymous memory: a GPU's library has to register it before the GPU can copy from it at full rate.

use crate::error::{Errno, NumaError, size};
use crate::ffi::{self, Mapping};
use crate::placement::{PagePlacement, placement};

/// Where and how memory is wanted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Placement {
    /// The NUMA node to bind to; `None` leaves it to the policy of the calling thread.
    pub node: Option<u32>,
    /// Whether to keep the pages in memory (mlock(2)).
    pub lock: bool,
}

/// A region of host memory whose pages are all there, freed when it is dropped.
///
/// `Send` and `Sync`: it belongs to the process, shared references only read, and writing takes an exclusive one.
#[derive(Debug)]
pub struct HostPages {
    mapping: Mapping,
    /// As asked for; the mapping is whole pages, so it can be longer.
    bytes: usize,
    asked: Placement,
    proof: Result<PagePlacement, NumaError>,
}

impl HostPages {
    /// Maps `bytes` bytes, binds them to the node, touches every page, locks them, and asks where they are.
    ///
    /// A refused bind or lock is an error. A refused query is kept in [`HostPages::proof`], because the memory can be
    /// used all the same. Compare the node's free memory before: the kernel kills a process that touches more bound
    /// memory than the node has. Every byte is 0; a `bytes` of 0 is an error.
    pub fn allocate(bytes: usize, asked: &Placement) -> Result<Self, NumaError> {
        let page_bytes = ffi::page_bytes();
        let refuse = |errno| NumaError::Map { bytes, errno };
        // 0 bytes cannot be mapped, and what rounds up beyond the address space neither.
        let whole = bytes
            .checked_next_multiple_of(page_bytes)
            .ok_or_else(|| refuse(Errno(libc::ENOMEM)))?;
        let mut mapping = Mapping::new(whole).map_err(refuse)?;
        if let Some(node) = asked.node {
            ffi::node_mask(&[node])
                .and_then(|mask| mapping.bind(&mask))
                .map_err(|errno| NumaError::Bind { node, bytes, errno })?;
        }
        mapping.touch(page_bytes);
        if asked.lock {
            mapping.lock().map_err(|errno| NumaError::Lock {
                bytes,
                limit: lock_limit(),
                errno,
            })?;
        }
        let proof = placement(mapping.start().as_ptr() as usize, whole);
        Ok(Self {
            mapping,
            bytes,
            asked: *asked,
            proof,
        })
    }

    /// Where the pages were after they were touched, or why the kernel did not say.
    pub fn proof(&self) -> Result<&PagePlacement, &NumaError> {
        self.proof.as_ref()
    }

    /// The node that holds every page, as proven; `None` where the kernel did not say or the pages are on several.
    pub fn proven_node(&self) -> Option<u32> {
        self.proof().ok().and_then(PagePlacement::single_node)
    }

    /// What was asked for.
    pub fn asked(&self) -> &Placement {
        &self.asked
    }

    /// Asks again where the pages are.
    pub fn placement_now(&self) -> Result<PagePlacement, NumaError> {
        placement(self.as_ptr() as usize, self.bytes)
    }

    /// The size in bytes, as asked for.
    pub fn len(&self) -> usize {
        self.bytes
    }

    /// Whether the size is 0, which it never is.
    pub fn is_empty(&self) -> bool {
        self.bytes == 0
    }

    /// The first byte, page aligned; valid for [`HostPages::len`] bytes while the region lives.
    pub fn as_ptr(&self) -> *const u8 {
        self.mapping.start().as_ptr()
    }

    /// The first byte, page aligned, for writing; valid for [`HostPages::len`] bytes while the region lives.
    pub fn as_mut_ptr(&mut self) -> *mut u8 {
        self.mapping.start().as_ptr()
    }

    /// The bytes.
    pub fn as_slice(&self) -> &[u8] {
        &self.mapping.as_slice()[..self.bytes]
    }

    /// The bytes, for writing.
    pub fn as_mut_slice(&mut self) -> &mut [u8] {
        &mut self.mapping.as_mut_slice()[..self.bytes]
    }
}

fn lock_limit() -> String {
    match ffi::lock_limit() {
        Ok(Some(bytes)) => size(usize::try_from(bytes).unwrap_or(usize::MAX)),
        Ok(None) => "unlimited".to_owned(),
        Err(errno) => format!("not known ({errno})"),
    }
}
