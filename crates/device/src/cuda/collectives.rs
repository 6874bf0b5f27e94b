//! What NCCL needs of the `cuda` backend.

use std::ffi::c_void;
use std::sync::Arc;

use super::context::Context;
use super::memory::DeviceMemory;
use super::{Cuda, Device, DeviceBuffer, Stream};
use crate::ccl::Carrier;
use crate::error::Result;
use crate::memory::InFlight;

impl Carrier for Cuda {
    type Context = Context;
    type Memory = DeviceMemory;

    fn context(device: &Device) -> &Arc<Context> {
        &device.context
    }

    fn is_same(one: &Context, other: &Context) -> bool {
        std::ptr::eq(one, other)
    }

    fn bind(context: &Context) -> Result<()> {
        context.bind()
    }

    fn memory(buffer: &DeviceBuffer) -> &Arc<DeviceMemory> {
        &buffer.0
    }

    fn of_memory(memory: &DeviceMemory) -> &Context {
        memory.context()
    }

    fn address(memory: &DeviceMemory, offset: usize, bytes: usize) -> Result<usize> {
        memory.range(offset, bytes).map(|address| address as usize)
    }

    fn of_stream(stream: &Stream) -> &Context {
        stream.raw().context()
    }

    fn handle(stream: &Stream) -> *mut c_void {
        stream.raw().raw().cast()
    }

    fn queue(
        stream: &Stream,
        held: [InFlight; 3],
        queue: impl FnOnce() -> Result<()>,
    ) -> Result<()> {
        stream.raw().queue(held, queue)
    }
}
