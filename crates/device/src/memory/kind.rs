//! How host memory is allocated.

/// How the memory of a host buffer was allocated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum HostKind {
    /// Ordinary memory; a driver stages it or pins it on the fly.
    Pageable,
    /// Page-locked by the driver and directly reachable by the device; for the host backend, locked by the kernel.
    Pinned,
}
