//! What a library of collectives needs of a backend: handles, addresses, and streams that keep what their work needs.

use std::ffi::c_void;
use std::sync::Arc;

use crate::backend::{Backend, Device};
use crate::error::Result;
use crate::memory::{Held, InFlight};

/// Streams of a backend.
pub(crate) type StreamOf<B> = <<B as Backend>::Device as Device>::Stream;
/// Memory of a backend's devices.
pub(crate) type BufferOf<B> = <<B as Backend>::Device as Device>::DeviceBuffer;

/// A backend with device memory that a vendor's library works on.
pub(crate) trait Carrier: Backend + 'static {
    /// An opened device as the driver knows it.
    type Context: Send + Sync + 'static;
    /// Memory behind a buffer.
    type Memory: Held;

    /// The context of a device.
    fn context(device: &Self::Device) -> &Arc<Self::Context>;

    /// Whether both are the same device's.
    fn is_same(one: &Self::Context, other: &Self::Context) -> bool;

    /// Makes a device the calling thread's current one.
    fn bind(context: &Self::Context) -> Result<()>;

    /// The memory of a buffer.
    fn memory(buffer: &BufferOf<Self>) -> &Arc<Self::Memory>;

    /// The device that memory is on.
    fn of_memory(memory: &Self::Memory) -> &Self::Context;

    /// The address of `bytes` from `offset` on, which lie inside.
    fn address(memory: &Self::Memory, offset: usize, bytes: usize) -> Result<usize>;

    /// The device that a stream was made on.
    fn of_stream(stream: &StreamOf<Self>) -> &Self::Context;

    /// The handle of a stream, alive as long as the stream.
    fn handle(stream: &StreamOf<Self>) -> *mut c_void;

    /// Makes a call that queues work, and keeps what it needs until the stream was waited for or, where it is captured, for the
    /// graph. The stream's device is current during the call.
    fn queue(
        stream: &StreamOf<Self>,
        held: [InFlight; 3],
        queue: impl FnOnce() -> Result<()>,
    ) -> Result<()>;
}
