//! The calls on streams and events: copies are checked, queued, and hold their buffers until the stream was waited for.
#![expect(unsafe_code, reason = "C ABI of a vendor's runtime")]

use std::ffi::c_void;
use std::ptr;
use std::sync::Arc;

use super::super::context::Context;
use super::super::memory::DeviceBuffer;
use super::super::symbols::{Code, Handle};
use crate::backend;
use crate::error::{DeviceError, Result};
use crate::memory::{Holding, InFlight};

/// `hipMemcpyKind`, whose first four MACA is assumed to share with HIP and CUDA.
#[derive(Clone, Copy)]
pub(in crate::runtime) enum Kind {
    HostToDevice = 1,
    DeviceToHost = 2,
    DeviceToDevice = 3,
}

/// A stream of a device: its handle, and what its work holds.
pub struct Stream {
    raw: Handle,
    context: Arc<Context>,
    holding: Holding,
}

// SAFETY: a stream belongs to its device and not to a thread; calls on it may come from any thread in which the device is
// current, which `bind` sees to.
unsafe impl Send for Stream {}

impl Stream {
    /// Makes a stream that does not synchronise with the default stream.
    pub(in crate::runtime) fn create(context: &Arc<Context>) -> Result<Self> {
        const NON_BLOCKING: u32 = 1; // hipStreamNonBlocking
        let (name, call) = context.ready(|all| &all.stream_create)?;
        let mut raw = ptr::null_mut();
        // SAFETY: hip_runtime_api.h: `hipStreamCreateWithFlags(hipStream_t *, unsigned int)` writes one handle; destroyed
        // in Drop.
        let code = unsafe { call(&raw mut raw, NON_BLOCKING) };
        context.library.check(name, code)?;
        Ok(Self {
            raw,
            context: Arc::clone(context),
            holding: Holding::default(),
        })
    }

    /// Its handle, alive as long as this value.
    pub(crate) fn raw(&self) -> Handle {
        self.raw
    }

    /// The device that it was made on.
    pub(crate) fn context(&self) -> &Arc<Context> {
        &self.context
    }

    /// What its work holds.
    pub(in crate::runtime) fn holding(&self) -> &Holding {
        &self.holding
    }

    /// The address of a part of device memory, which a device of the same library may be given.
    pub(in crate::runtime) fn device_address(
        &self,
        (buffer, offset): (&DeviceBuffer, usize),
        bytes: usize,
    ) -> Result<*mut c_void> {
        if buffer.0.context().library.serial != self.context.library.serial {
            return Err(DeviceError::Argument {
                what: "the memory",
                why: "it is of another library than the stream".to_owned(),
            });
        }
        Ok(buffer.0.range(offset, bytes)? as *mut c_void)
    }

    /// Queues a copy between two devices, whose parts lie inside the buffers that are held.
    pub(in crate::runtime) fn copy_peer(
        &self,
        (target, to): (*mut c_void, &Context),
        (source, from): (*const c_void, &Context),
        bytes: usize,
        held: [InFlight; 2],
    ) -> Result<()> {
        let library = self.context.library;
        if let Some(driver) = &library.driver {
            let call = library.need(&driver.copy_peer)?;
            let (to, from) = (to.primary()?, from.primary()?);
            return self.queue(held, || {
                // SAFETY: cuda.h: `cuMemcpyPeerAsync(CUdeviceptr, CUcontext, CUdeviceptr, CUcontext, size_t, CUstream)`; both
                // ranges lie inside buffers of these contexts that `queue` keeps until the stream was waited for.
                let code = unsafe { call(target, to, source, from, bytes, self.raw) };
                library.check(driver.copy_peer.name, code)
            });
        }
        let function = &library.functions.copy_peer;
        let call = library.need(function)?;
        self.queue(held, || {
            // SAFETY: hip_runtime_api.h: `hipMemcpyPeerAsync(void *, int, const void *, int, size_t, hipStream_t)`; both
            // ranges lie inside buffers of these devices that `queue` keeps until the stream was waited for.
            let code = unsafe { call(target, to.device, source, from.device, bytes, self.raw) };
            library.check(function.name, code)
        })
    }

    /// Queues a copy of `bytes` that lie inside the buffers that are held.
    pub(in crate::runtime) fn copy(
        &self,
        target: *mut c_void,
        source: *const c_void,
        bytes: usize,
        kind: Kind,
        held: [InFlight; 2],
    ) -> Result<()> {
        let library = self.context.library;
        if let Some(driver) = &library.driver {
            let function = match kind {
                Kind::HostToDevice => &driver.copy_to_device,
                Kind::DeviceToHost => &driver.copy_to_host,
                Kind::DeviceToDevice => &driver.copy_within,
            };
            let call = library.need(function)?;
            return self.queue(held, || {
                // SAFETY: cuda.h: `cuMemcpyHtoDAsync(CUdeviceptr, const void *, size_t, CUstream)` and its like; both ranges lie
                // inside buffers that `queue` keeps until the stream was waited for, and the host cannot touch them meanwhile.
                let code = unsafe { call(target, source, bytes, self.raw) };
                library.check(function.name, code)
            });
        }
        let function = &library.functions.copy;
        let call = library.need(function)?;
        self.queue(held, || {
            // SAFETY: hip_runtime_api.h: `hipMemcpyAsync(void *, const void *, size_t, hipMemcpyKind, hipStream_t)`; both
            // ranges lie inside buffers that `queue` keeps until the stream was waited for, and the host cannot touch them
            // meanwhile.
            let code = unsafe { call(target, source, bytes, kind as u32, self.raw) };
            library.check(function.name, code)
        })
    }

    /// Makes a call that queues any work, and keeps what it needs until the stream was waited for or, where it is captured,
    /// for the graph.
    pub(crate) fn queue(
        &self,
        held: impl IntoIterator<Item = InFlight>,
        queue: impl FnOnce() -> Result<()>,
    ) -> Result<()> {
        self.context.bind()?;
        let outcome = queue();
        // Also where it failed: the code may be that of earlier work, and then it is not known whether this was queued.
        self.holding.keep(held);
        outcome
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        if self.holding.is_busy() && backend::Stream::synchronize(self).is_err() {
            // The device may still use these; a leak in a process that lost its device is the lesser evil.
            self.holding.leak();
        }
        let destroy = self.context.library.functions.stream_destroy.call;
        if let (Some(call), Ok(())) = (destroy, self.context.bind()) {
            // SAFETY: hip_runtime_api.h: `hipStreamDestroy(hipStream_t)`; from hipStreamCreateWithFlags in `create`,
            // destroyed once.
            let _ = unsafe { call(self.raw) };
        }
    }
}

/// An event of a device.
pub struct Event {
    pub(in crate::runtime) raw: Handle,
    context: Arc<Context>,
}

// SAFETY: an event belongs to its device and not to a thread; calls on it may come from any thread.
unsafe impl Send for Event {}

impl Event {
    /// Makes an event that keeps a time.
    pub(in crate::runtime) fn create(context: &Arc<Context>) -> Result<Self> {
        let (name, call) = context.ready(|all| &all.event_create)?;
        let mut raw = ptr::null_mut();
        // SAFETY: hip_runtime_api.h: `hipEventCreateWithFlags(hipEvent_t *, unsigned int)` writes one handle; destroyed in
        // Drop.
        let code = unsafe { call(&raw mut raw, 0) };
        context.library.check(name, code)?;
        Ok(Self {
            raw,
            context: Arc::clone(context),
        })
    }
}

impl backend::Event for Event {
    fn nanoseconds_since(&self, earlier: &Self) -> Result<f64> {
        let library = self.context.library;
        let (name, call) = library.elapsed()?;
        self.context.bind()?;
        let mut milliseconds = 0.0f32;
        // SAFETY: hip_runtime_api.h: `hipEventElapsedTime(float *, hipEvent_t, hipEvent_t)` writes one float; both are alive.
        let code = unsafe { call(&raw mut milliseconds, earlier.raw, self.raw) };
        if [Code::INVALID_HANDLE, Code::NOT_READY].contains(&code) {
            return Err(DeviceError::EventNotReady);
        }
        library.check(name, code)?;
        Ok(f64::from(milliseconds) * 1e6)
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        let destroy = self.context.library.functions.event_destroy.call;
        if let (Some(call), Ok(())) = (destroy, self.context.bind()) {
            // SAFETY: hip_runtime_api.h: `hipEventDestroy(hipEvent_t)`; from hipEventCreateWithFlags in `create`, destroyed
            // once. It may be destroyed before it is reached.
            let _ = unsafe { call(self.raw) };
        }
    }
}
