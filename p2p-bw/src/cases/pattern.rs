//! What the rows of the table are made of: patterns, memory, engines and what is measured.

/// What is moved from where to where.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pattern {
    /// Host memory to a device.
    HostToDevice(Memory),
    /// A device to host memory.
    DeviceToHost(Memory),
    /// Both at once, equal sizes.
    HostBothWays(Memory),
    /// Within one device.
    Local,
    /// From one device to another, issued by this end.
    Peer(Issuer),
    /// Both ways between two devices at once, equal sizes.
    PeerBothWays(Issuer),
    /// Device, pinned host memory, device: a pipeline of ours.
    Staged,
    /// The driver's own copy between devices that have no peer access.
    DriverStaged,
    /// Host memory to every device at once.
    HostToAll,
    /// Every device to host memory at once.
    AllToHost,
    /// Every device to the next one at once, the last to the first; issued by the sources.
    Ring,
    /// Every device to every other at once, issued by the sources.
    AllPairs,
}

/// The host memory of a case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Memory {
    /// Locked in place.
    Pinned,
    /// Ordinary memory.
    Pageable,
}

/// Which device's stream issues a copy between two devices.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Issuer {
    /// The source: a write.
    Source,
    /// The destination: a read.
    Destination,
}

/// Who moves the bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Engine {
    /// The copy engine; on the host backend a CPU core.
    Copy,
    /// A kernel on the device's multiprocessors.
    Kernel,
}

/// What comes out of a case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Measures {
    /// GB/s of copies.
    Bandwidth,
    /// Nanoseconds of one load that depends on the one before. The kernel runs on the device that issues, the memory is
    /// that of the other end.
    Latency,
    /// Microseconds of one small copy: to issue it, and from one to the next.
    SmallCopies,
}

impl Pattern {
    /// Whether a device reaches another's memory in it.
    pub(crate) fn uses_peer_access(self) -> bool {
        matches!(
            self,
            Self::Peer(_) | Self::PeerBothWays(_) | Self::Ring | Self::AllPairs
        )
    }

    /// Whether bytes go from one device to another, by whatever way.
    pub(crate) fn joins_devices(self) -> bool {
        self.uses_peer_access() || matches!(self, Self::Staged | Self::DriverStaged)
    }

    /// The host memory that it uses; that of the groups is pinned.
    pub(crate) fn memory(self) -> Option<Memory> {
        match self {
            Self::HostToDevice(memory)
            | Self::DeviceToHost(memory)
            | Self::HostBothWays(memory) => Some(memory),
            Self::HostToAll | Self::AllToHost => Some(Memory::Pinned),
            _ => None,
        }
    }
}
