//! What a vendor's library of collectives needs of its runtime.

use std::ffi::c_void;
use std::sync::Arc;

use super::buffer::DeviceBuffer;
use super::context::Context;
use super::device::{Device, Runtime};
use super::memory::DeviceMemory;
use super::queue::Stream;
use super::table::Vendor;
use crate::ccl::Carrier;
use crate::error::Result;
use crate::memory::InFlight;

impl<V: Vendor> Carrier for Runtime<V> {
    type Context = Context;
    type Memory = DeviceMemory;

    fn context(device: &Device<V>) -> &Arc<Context> {
        device.context()
    }

    fn is_same(one: &Context, other: &Context) -> bool {
        one.is(other)
    }

    fn bind(context: &Context) -> Result<()> {
        context.bind()
    }

    fn memory(buffer: &DeviceBuffer<V>) -> &Arc<DeviceMemory> {
        buffer.raw()
    }

    fn of_memory(memory: &DeviceMemory) -> &Context {
        memory.context()
    }

    fn address(memory: &DeviceMemory, offset: usize, bytes: usize) -> Result<usize> {
        memory.range(offset, bytes)
    }

    fn of_stream(stream: &Stream<V>) -> &Context {
        stream.raw().context()
    }

    fn handle(stream: &Stream<V>) -> *mut c_void {
        stream.raw().raw()
    }

    fn queue(
        stream: &Stream<V>,
        held: [InFlight; 3],
        queue: impl FnOnce() -> Result<()>,
    ) -> Result<()> {
        stream.raw().queue(held, queue)
    }
}
