//! How host memory is allocated.

/// How the memory of a host buffer was allocated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum HostKind {
    /// Ordinary memory; a driver stages it or pins it on the fly.
    Pageable,
    /// Page-locked by the driver and directly reachable by the device; for the host backend, locked by the kernel.
    Pinned,
    /// As pinned, but not cached by the host, which writes it fast in order and reads it very slowly.
    WriteCombined,
    /// Ordinary memory that was given to the driver to lock and map afterwards.
    Registered,
    /// As registered, but of huge pages: reserved ones, else transparent ones where all of it was given as such. The host
    /// backend has no driver to register them with.
    HugePages,
}
