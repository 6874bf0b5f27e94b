//! Host memory as a pointer with an owner, and its one door for the host: [`HostBuffer::with_bytes`].
#![expect(
    unsafe_code,
    reason = "slices over memory that a vendor's allocator or the kernel gave"
)]

use std::any::Any;
use std::ptr::NonNull;
use std::sync::Arc;

use super::access::{Access, Held};
use crate::error::Result;
use crate::nodes::Nodes;

/// How the memory of a host buffer was allocated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum HostKind {
    /// Ordinary memory; a driver stages it or pins it on the fly.
    Pageable,
    /// Page-locked by the driver and directly reachable by the device; for the host backend, locked by the kernel.
    Pinned,
}

/// Host memory and the value that frees it when dropped.
pub(crate) struct HostMemory {
    pointer: NonNull<u8>,
    len: usize,
    access: Access,
    /// Frees the memory.
    _owner: Box<dyn Any + Send + Sync>,
}

// SAFETY: the memory belongs to `_owner`, which is Send and lives as long as this value; the pointer is tied to no thread.
unsafe impl Send for HostMemory {}
// SAFETY: a reference to the bytes is made only inside `Access::exclusively`, which admits one thread and no copy; copies
// take the pointer while they are counted in (`InFlight`).
unsafe impl Sync for HostMemory {}

impl HostMemory {
    /// Takes over memory of a pinned allocator or of [`numa::HostPages`].
    ///
    /// # Safety
    /// `pointer` is valid for reads and writes of `len` initialised bytes until `owner` is dropped, and nobody else uses them.
    pub(crate) unsafe fn new(
        pointer: NonNull<u8>,
        len: usize,
        owner: Box<dyn Any + Send + Sync>,
    ) -> Self {
        Self {
            pointer,
            len,
            access: Access::default(),
            _owner: owner,
        }
    }

    /// Its first byte.
    pub(crate) fn pointer(&self) -> NonNull<u8> {
        self.pointer
    }

    /// Its length in bytes.
    pub(crate) fn len(&self) -> usize {
        self.len
    }
}

impl Held for HostMemory {
    fn access(&self) -> &Access {
        &self.access
    }
}

/// Host memory that copies can use.
#[derive(Clone)]
pub struct HostBuffer {
    pub(crate) memory: Arc<HostMemory>,
    kind: HostKind,
    /// Whose nodes it is on.
    nodes: Nodes,
}

impl std::fmt::Debug for HostBuffer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "HostBuffer({:?}, {} bytes)", self.kind, self.len())
    }
}

impl HostBuffer {
    fn of(memory: HostMemory, kind: HostKind, nodes: Nodes) -> Self {
        Self {
            memory: Arc::new(memory),
            kind,
            nodes,
        }
    }

    /// Memory that a driver has allocated, placed now where the driver is a simulated one.
    pub(crate) fn placed(
        memory: HostMemory,
        kind: HostKind,
        node: Option<u32>,
        nodes: Nodes,
    ) -> Result<Self> {
        nodes.place(memory.pointer, memory.len, node)?;
        Ok(Self::of(memory, kind, nodes))
    }

    /// Pages on a node of this machine: bound, touched, and locked where `kind` is pinned.
    pub(crate) fn from_pages(kind: HostKind, bytes: usize, node: Option<u32>) -> Result<Self> {
        Self::from_pages_of(Nodes::Machine, kind, bytes, node)
    }

    /// Pages from the kernel; a simulated driver is told where they are on its box.
    pub(crate) fn from_pages_of(
        nodes: Nodes,
        kind: HostKind,
        bytes: usize,
        node: Option<u32>,
    ) -> Result<Self> {
        let lock = kind == HostKind::Pinned;
        let (placement, driver) = match nodes {
            Nodes::Machine => (numa::Placement { node, lock }, None),
            Nodes::Driver(driver) => (numa::Placement::default(), Some(driver)),
        };
        let mut pages = numa::HostPages::allocate(bytes, &placement)?;
        let start = NonNull::from(pages.as_mut_slice()).cast();
        let told = driver.map(|driver| driver.tell(start, bytes, node));
        // The fields of a tuple are dropped in order: what was told of the pages is forgotten before they go.
        let owner = Box::new((told.transpose()?, pages));
        // SAFETY: `pages` maps `bytes` zeroed bytes at `start` for as long as it lives, wherever it is moved; the owner is
        // the only one that has it from here on, and uses it in Drop only.
        let memory = unsafe { HostMemory::new(start, bytes, owner) };
        Ok(Self::of(memory, kind, nodes))
    }

    /// Its length in bytes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.memory.len()
    }

    /// Whether it has no bytes; such a buffer is not made.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How it was allocated.
    #[must_use]
    pub fn kind(&self) -> HostKind {
        self.kind
    }

    /// The NUMA node that holds all pages the kernel is asked about now, as it may move them; of memory for a simulated driver, the
    /// node of its box.
    ///
    /// # Errors
    /// The text says what the kernel answered.
    pub fn node_now(&self) -> std::result::Result<u32, String> {
        self.nodes.node_of(self.memory.pointer, self.memory.len)
    }

    /// Reads and writes the bytes from the host.
    ///
    /// # Errors
    /// `BufferInUse` while a copy that was not waited for holds them.
    pub fn with_bytes<T>(&self, work: impl FnOnce(&mut [u8]) -> T) -> Result<T> {
        self.memory.access().exclusively(|| {
            // SAFETY: pointer and length are valid by the contract of `HostMemory::new`; `exclusively` keeps every
            // other host access (of clones and of `work` itself too) and every copy out until `work` returned.
            let bytes = unsafe {
                std::slice::from_raw_parts_mut(self.memory.pointer.as_ptr(), self.memory.len)
            };
            work(bytes)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::DeviceError;
    use crate::memory::InFlight;

    fn buffer(bytes: usize) -> HostBuffer {
        HostBuffer::from_pages(HostKind::Pageable, bytes, None).unwrap()
    }

    #[test]
    fn a_new_buffer_is_zero_and_keeps_what_is_written() {
        let buffer = buffer(5000);
        assert_eq!((buffer.len(), buffer.is_empty()), (5000, false));
        buffer
            .with_bytes(|bytes| {
                assert_eq!(bytes, [0; 5000]);
                bytes[4999] = 7;
            })
            .unwrap();
        assert_eq!(buffer.with_bytes(|bytes| bytes[4999]).unwrap(), 7);
    }

    #[test]
    fn a_copy_and_the_host_keep_each_other_out() {
        let buffer = buffer(64);
        let copy = InFlight::begin(&buffer.memory).unwrap();
        let refused = buffer.with_bytes(|_| ());
        assert!(matches!(refused, Err(DeviceError::BufferInUse)));
        drop(copy);
        let refused = buffer.with_bytes(|_| InFlight::begin(&buffer.memory).map(drop));
        assert!(matches!(refused, Ok(Err(DeviceError::BufferInUse))));
    }

    #[test]
    fn a_copy_keeps_memory_alive_that_its_buffer_gave_up() {
        let buffer = buffer(64);
        let weak = Arc::downgrade(&buffer.memory);
        let copy = InFlight::begin(&buffer.memory).unwrap();
        drop(buffer);
        assert!(weak.upgrade().is_some());
        drop(copy);
        assert!(weak.upgrade().is_none());
    }
}
