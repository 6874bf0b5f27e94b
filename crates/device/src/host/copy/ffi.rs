//! Moving bytes between two buffers that a copy holds.
#![expect(
    unsafe_code,
    reason = "memcpy between memory that several threads can reach"
)]

use std::sync::Arc;

use crate::error::Result;
use crate::memory::{HostMemory, InFlight, check_range};

/// A copy that may be done.
///
/// Invariant: both ranges lie inside their buffers, and `held` keeps both alive and the host away from them.
pub(in crate::host) struct Copy {
    to: (Arc<HostMemory>, usize),
    from: (Arc<HostMemory>, usize),
    bytes: usize,
    held: [InFlight; 2],
}

impl Copy {
    /// Checks the ranges and holds both buffers.
    pub(in crate::host) fn new(
        to: (&Arc<HostMemory>, usize),
        from: (&Arc<HostMemory>, usize),
        bytes: usize,
    ) -> Result<Self> {
        check_range(to.1, bytes, to.0.len())?;
        check_range(from.1, bytes, from.0.len())?;
        let held = [InFlight::begin(to.0)?, InFlight::begin(from.0)?];
        Ok(Self {
            to: (Arc::clone(to.0), to.1),
            from: (Arc::clone(from.0), from.1),
            bytes,
            held,
        })
    }

    /// Moves the bytes, ranges that overlap as if through a third buffer, and gives back what it held.
    pub(in crate::host) fn run(self) -> [InFlight; 2] {
        let source = self.from.0.pointer().as_ptr().wrapping_add(self.from.1);
        let target = self.to.0.pointer().as_ptr().wrapping_add(self.to.1);
        // SAFETY: memmove(3); both ranges lie inside live allocations and no reference to them exists (the invariant).
        // What this cannot rule out is a second copy on the same bytes, queued on another stream without an event between
        // them. On a device that leaves undefined content; here it is a data race of two memmove(3) on plain bytes, which
        // nothing reads before both streams were waited for.
        unsafe { std::ptr::copy(source, target, self.bytes) };
        self.held
    }
}
