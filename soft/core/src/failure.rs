//! How a call into a simulated driver can fail. Names and texts of codes are the libraries' matter.

/// A result of a simulated driver call.
pub type Outcome<T> = Result<T, Failure>;

/// Why a call did not succeed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failure {
    /// The driver reports this code.
    Code(Code),
    /// The call never returns: the caller must release the driver and park the thread for good.
    Hang,
    /// Work of another library waits for another process: the caller must release the driver for a moment and call again.
    Blocked,
}

/// A driver error code; CUDA, HIP and MACA share these numbers (`cuda.h`, enum `cudaError_enum`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Code(pub i32);

impl Code {
    /// A value is out of range.
    pub const INVALID_VALUE: Self = Self(1);
    /// Not enough memory.
    pub const OUT_OF_MEMORY: Self = Self(2);
    /// The driver was not initialised.
    pub const NOT_INITIALIZED: Self = Self(3);
    /// There is no device.
    pub const NO_DEVICE: Self = Self(100);
    /// The ordinal names no device.
    pub const INVALID_DEVICE: Self = Self(101);
    /// The module image is not one.
    pub const INVALID_IMAGE: Self = Self(200);
    /// No context is current, or the handle is none.
    pub const INVALID_CONTEXT: Self = Self(201);
    /// Peer access between these devices is not possible.
    pub const PEER_ACCESS_UNSUPPORTED: Self = Self(217);
    /// The PTX text is not one.
    pub const INVALID_PTX: Self = Self(218);
    /// The handle is none, or an event was never recorded.
    pub const INVALID_HANDLE: Self = Self(400);
    /// A capture begins twice or ends without having begun.
    pub const ILLEGAL_STATE: Self = Self(401);
    /// The module has no such function.
    pub const NOT_FOUND: Self = Self(500);
    /// Work is pending.
    pub const NOT_READY: Self = Self(600);
    /// A kernel used an address that its device cannot reach; every later call on the device fails too.
    pub const ILLEGAL_ADDRESS: Self = Self(700);
    /// Peer access is enabled already.
    pub const PEER_ACCESS_ALREADY_ENABLED: Self = Self(704);
    /// Peer access was not enabled.
    pub const PEER_ACCESS_NOT_ENABLED: Self = Self(705);
    /// A kernel used an address that is not a multiple of what it loads or stores; every later call on the device fails too.
    pub const MISALIGNED_ADDRESS: Self = Self(716);
    /// The device failed; every later call on it fails too.
    pub const LAUNCH_FAILED: Self = Self(719);
    /// The device or the driver does not do that.
    pub const NOT_SUPPORTED: Self = Self(801);
    /// What was asked for is not possible while the stream captures.
    pub const CAPTURE_UNSUPPORTED: Self = Self(900);
    /// The capture was spoiled by an earlier call.
    pub const CAPTURE_INVALIDATED: Self = Self(901);
    /// Something else went wrong.
    pub const UNKNOWN: Self = Self(999);
}

impl From<Code> for Failure {
    fn from(code: Code) -> Self {
        Self::Code(code)
    }
}
