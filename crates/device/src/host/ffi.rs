//! The unsafe steps of the host backend: moving bytes of buffers that queued work holds.
#![expect(
    unsafe_code,
    reason = "memcpy of memory that several threads can reach"
)]

use std::ptr;
use std::sync::Arc;

use crate::error::Result;
use crate::memory::{HostMemory, InFlight, check_range};

/// A part of a buffer that queued work reads or writes.
///
/// Invariant: the range lies inside the memory. Who runs the work holds the [`InFlight`] that [`Part::new`] gave, so that the
/// host is away from it.
///
/// What this cannot rule out is other work on the same bytes, queued on another stream without an event between them. On a
/// device that leaves undefined content; here it is a data race of two memmove(3) on plain bytes, which nothing reads before
/// both streams were waited for. No reference to the bytes is ever made.
pub(super) struct Part {
    memory: Arc<HostMemory>,
    at: usize,
    bytes: usize,
}

impl Part {
    /// Checks the range and holds the buffer.
    pub(super) fn new(
        memory: &Arc<HostMemory>,
        at: usize,
        bytes: usize,
    ) -> Result<(Self, InFlight)> {
        check_range(at, bytes, memory.len())?;
        let part = Self {
            memory: Arc::clone(memory),
            at,
            bytes,
        };
        Ok((part, InFlight::begin(memory)?))
    }

    /// Its length.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    fn start(&self) -> *mut u8 {
        self.memory.pointer().as_ptr().wrapping_add(self.at)
    }

    /// Writes the bytes of a part that is as long; ranges that overlap go as if through a third buffer.
    pub(super) fn copy_from(&self, from: &Self) -> Result<()> {
        check_range(0, self.bytes, from.bytes)?;
        // SAFETY: memmove(3); both ranges lie inside live allocations, of which no reference exists (the invariant).
        unsafe { ptr::copy(from.start(), self.start(), self.bytes) };
        Ok(())
    }

    /// A copy of its bytes.
    pub(super) fn read(&self) -> Vec<u8> {
        let mut bytes = vec![0; self.bytes];
        // SAFETY: memcpy(3) from a live range (the invariant) to memory of our own that is as long.
        unsafe { ptr::copy_nonoverlapping(self.start(), bytes.as_mut_ptr(), self.bytes) };
        bytes
    }

    /// Writes bytes that are as many.
    pub(super) fn write(&self, bytes: &[u8]) -> Result<()> {
        check_range(0, self.bytes, bytes.len())?;
        // SAFETY: memcpy(3) to a live range (the invariant) from as many bytes, which are the caller's and so lie elsewhere.
        unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), self.start(), self.bytes) };
        Ok(())
    }
}
