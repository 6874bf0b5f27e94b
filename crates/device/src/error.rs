//! What can go wrong between this program and a device.

use std::io::ErrorKind;

use record::{Failure, FailureKind};
use thiserror::Error;

/// The result of a device operation.
pub type Result<T> = std::result::Result<T, DeviceError>;

/// Why a device operation failed; vendor codes are given in the vendor's words.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum DeviceError {
    /// The vendor's library is not on this machine.
    #[error("{library} not found ({looked}); {next}")]
    LibraryMissing {
        /// The library's name.
        library: &'static str,
        /// Where it was looked for.
        looked: String,
        /// What to do.
        next: &'static str,
    },
    /// The library lacks a function that is needed.
    #[error(
        "{library} has no symbol {symbol}; the driver is too old for this program, or another library answers by that name"
    )]
    SymbolMissing {
        /// The library's name.
        library: &'static str,
        /// The function.
        symbol: &'static str,
    },
    /// The driver answers and has no device.
    #[error("the {backend} driver reports no device ({reason})")]
    NoDevice {
        /// The backend.
        backend: &'static str,
        /// The driver's words.
        reason: String,
    },
    /// A device that does not exist.
    #[error("there is no device {ordinal}: the {backend} backend has {count} (0 to {}); see --list", count.saturating_sub(1))]
    NoSuchDevice {
        /// The backend.
        backend: &'static str,
        /// What was asked for.
        ordinal: usize,
        /// How many there are.
        count: usize,
    },
    /// The device's memory, or the host memory that it may use, is exhausted.
    #[error("out of memory: {bytes} bytes of {what}; use smaller --sizes or free the device")]
    OutOfMemory {
        /// Bytes asked for.
        bytes: usize,
        /// Which memory.
        what: String,
    },
    /// The device is gone, or its context is broken for the rest of the process.
    #[error(
        "device lost: {call} returned {name} ({code}); look for Xid or amdgpu lines in the kernel log"
    )]
    Lost {
        /// The call that reported it.
        call: &'static str,
        /// The vendor's code.
        code: i64,
        /// The vendor's name of it.
        name: String,
    },
    /// The driver refuses peer access between two devices.
    #[error("peer access refused: {call} returned {name} ({code})")]
    PeerRefused {
        /// The call.
        call: &'static str,
        /// The vendor's code.
        code: i64,
        /// The vendor's name of it.
        name: String,
    },
    /// The driver waits for the fabric of NVSwitches.
    #[error(
        "the NVSwitch fabric is not started ({call} returned {code}); start nvidia-fabricmanager, see `tplens help fabric-manager`"
    )]
    FabricNotReady {
        /// The call.
        call: &'static str,
        /// The vendor's code.
        code: i64,
    },
    /// Any other vendor error.
    #[error("{call} returned {name} ({code})")]
    Vendor {
        /// The call.
        call: &'static str,
        /// The vendor's code.
        code: i64,
        /// The vendor's name of it.
        name: String,
    },
    /// Host memory could not be had, bound or locked as asked.
    #[error(transparent)]
    HostMemory(#[from] numa::NumaError),
    /// The backend does not have this.
    #[error("{what} is not supported: {why}")]
    Unsupported {
        /// What.
        what: &'static str,
        /// Why.
        why: String,
    },
    /// The memory is part of a copy that was not waited for, or is being read by the host.
    #[error("the buffer is in use; wait for its stream before touching it")]
    BufferInUse,
    /// A range that lies outside a buffer.
    #[error("bytes {offset}..{end} lie outside a buffer of {len} bytes")]
    OutOfRange {
        /// First byte.
        offset: usize,
        /// One past the last byte.
        end: usize,
        /// Length of the buffer.
        len: usize,
    },
    /// An event that was asked for its time before it was recorded and reached.
    #[error("the event was not recorded or not reached yet")]
    EventNotReady,
    /// An argument that cannot be used, whatever the device's state.
    #[error("{what} cannot be used: {why}")]
    Argument {
        /// Which argument.
        what: &'static str,
        /// Why not.
        why: String,
    },
    /// Another rank of a communicator is gone, and with it the communicator.
    #[error(
        "rank {rank} of the communicator is gone ({reason}); what it reported itself tells why"
    )]
    RankGone {
        /// The rank.
        rank: u32,
        /// How that is known.
        reason: String,
    },
    /// The ranks of the host backend could not be connected.
    #[error("sockets of the ranks: {doing}: {error}")]
    Sockets {
        /// What was tried, with what to do.
        doing: String,
        /// The system's answer.
        error: std::io::Error,
    },
    /// A worker thread of the host backend is gone.
    #[error("the host backend's worker thread ended unexpectedly")]
    WorkerGone,
}

impl DeviceError {
    /// What kind of failure it is.
    #[must_use]
    pub fn kind(&self) -> FailureKind {
        match self {
            Self::LibraryMissing { .. } | Self::SymbolMissing { .. } => FailureKind::LibraryMissing,
            Self::OutOfMemory { .. } => FailureKind::OutOfMemory,
            Self::Lost { .. } => FailureKind::DeviceLost,
            Self::Unsupported { .. } | Self::PeerRefused { .. } => FailureKind::Unsupported,
            Self::HostMemory(error) if error.is_forbidden() => FailureKind::Permission,
            Self::Sockets { error, .. } if error.kind() == ErrorKind::PermissionDenied => {
                FailureKind::Permission
            }
            _ => FailureKind::Internal,
        }
    }

    /// The error as it crosses a process: its kind and its words.
    #[must_use]
    pub fn failure(&self) -> Failure {
        self.kind().of(self.to_string())
    }

    /// Whether the device cannot be used again in this process.
    #[must_use]
    pub fn is_lost(&self) -> bool {
        matches!(self, Self::Lost { .. })
    }
}
