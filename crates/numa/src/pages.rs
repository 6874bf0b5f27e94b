//! [`HostPages`]: memory of a node of one's choice, touched, and locked where asked.
//!
//! It is anonymous memory of ordinary pages: a GPU's library has to register it before the GPU can copy from it at full
//! rate.

use crate::error::{Errno, NumaError, size};
use crate::ffi::{self, Mapping};
use crate::placement::{PagePlacement, placement_of_all};

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
}

impl HostPages {
    /// Maps `bytes` bytes, binds them to the node, touches every page, and locks them.
    ///
    /// A refused bind or lock is an error. Compare the node's free memory before: the kernel kills a process that
    /// touches more bound memory than the node has. Every byte is 0; a `bytes` of 0 is an error.
    pub fn allocate(bytes: usize, asked: &Placement) -> Result<Self, NumaError> {
        let page_bytes = ffi::page_bytes();
        let mut mapping = map(bytes, page_bytes)?;
        if let Some(node) = asked.node {
            ffi::node_mask(&[node])
                .and_then(|mask| mapping.bind(&mask))
                .map_err(|errno| NumaError::Bind { node, bytes, errno })?;
        }
        mapping.touch(page_bytes);
        if asked.lock {
            mapping.lock().map_err(|errno| {
                let limit = match ffi::lock_limit() {
                    Ok(Some(bytes)) => size(usize::try_from(bytes).unwrap_or(usize::MAX)),
                    Ok(None) => "unlimited".to_owned(),
                    Err(errno) => format!("not known ({errno})"),
                };
                NumaError::Lock {
                    bytes,
                    limit,
                    errno,
                }
            })?;
        }
        Ok(Self { mapping, bytes })
    }

    /// Asks again where the pages are, about each of them.
    pub fn placement_of_all(&self) -> Result<PagePlacement, NumaError> {
        placement_of_all(self.as_ptr() as usize, self.bytes)
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

/// Whole pages.
fn map(bytes: usize, page_bytes: usize) -> Result<Mapping, NumaError> {
    let refuse = |errno| NumaError::Map { bytes, errno };
    let whole = bytes.checked_next_multiple_of(page_bytes);
    // 0 bytes cannot be mapped, and what rounds up beyond the address space neither.
    match whole.filter(|whole| *whole > 0) {
        Some(whole) => Mapping::new(whole).map_err(refuse),
        None if bytes == 0 => Err(refuse(Errno(libc::EINVAL))),
        None => Err(refuse(Errno(libc::ENOMEM))),
    }
}
