//! The calls on streams and events: copies are checked, queued, and hold their buffers until the stream was waited for.
#![expect(unsafe_code, reason = "C ABI of the CUDA driver")]

use std::ptr;
use std::sync::Arc;

use crate::cuda::raw as sys;

use crate::cuda::context::Context;
use crate::cuda::library::{EVENT_INVALID, NOT_READY, check, has_symbol};
use crate::cuda::memory::DeviceMemory;
use crate::error::{DeviceError, Result};
use crate::memory::{Holding, HostMemory, InFlight, check_range};

/// A part of a buffer: the buffer and the offset at which the part begins.
type Part<'a, M> = (&'a Arc<M>, usize);

/// A stream handle, and what its work holds.
pub(in crate::cuda) struct RawStream {
    raw: sys::CUstream,
    context: Arc<Context>,
    holding: Holding,
}

// SAFETY: a stream belongs to its context and not to a thread; calls on it may come from any thread in which the context
// is current, which `bind` sees to.
unsafe impl Send for RawStream {}

impl RawStream {
    /// Makes a stream that does not synchronise with the default stream.
    pub(in crate::cuda) fn create(context: &Arc<Context>) -> Result<Self> {
        const NON_BLOCKING: u32 = 1; // CU_STREAM_NON_BLOCKING
        context.bind()?;
        let mut raw = ptr::null_mut();
        // SAFETY: cuda.h: `cuStreamCreate(CUstream *, unsigned int)` writes one handle; destroyed in Drop.
        check("cuStreamCreate", unsafe {
            sys::cuStreamCreate(&raw mut raw, NON_BLOCKING)
        })?;
        Ok(Self {
            raw,
            context: Arc::clone(context),
            holding: Holding::default(),
        })
    }

    /// Its handle, alive as long as this value.
    pub(in crate::cuda) fn raw(&self) -> sys::CUstream {
        self.raw
    }

    /// The context that it was made in.
    pub(in crate::cuda) fn context(&self) -> &Arc<Context> {
        &self.context
    }

    /// What its work holds.
    pub(in crate::cuda) fn holding(&self) -> &Holding {
        &self.holding
    }

    /// Queues host to device.
    pub(in crate::cuda) fn host_to_device(
        &self,
        to: Part<'_, DeviceMemory>,
        from: Part<'_, HostMemory>,
        bytes: usize,
    ) -> Result<()> {
        let target = to.0.range(to.1, bytes)?;
        check_range(from.1, bytes, from.0.len())?;
        let source = from.0.pointer().as_ptr().wrapping_add(from.1).cast();
        let held = [InFlight::begin(to.0)?, InFlight::begin(from.0)?];
        self.copy("cuMemcpyHtoDAsync_v2", held, || {
            // SAFETY: cuda.h: `cuMemcpyHtoDAsync(CUdeviceptr, const void *, size_t, CUstream)`; both ranges lie inside
            // buffers that `copy` keeps until the stream was waited for, and the host cannot write meanwhile.
            unsafe { sys::cuMemcpyHtoDAsync_v2(target, source, bytes, self.raw) }
        })
    }

    /// Queues device to host.
    pub(in crate::cuda) fn device_to_host(
        &self,
        to: Part<'_, HostMemory>,
        from: Part<'_, DeviceMemory>,
        bytes: usize,
    ) -> Result<()> {
        check_range(to.1, bytes, to.0.len())?;
        let target = to.0.pointer().as_ptr().wrapping_add(to.1).cast();
        let source = from.0.range(from.1, bytes)?;
        let held = [InFlight::begin(to.0)?, InFlight::begin(from.0)?];
        self.copy("cuMemcpyDtoHAsync_v2", held, || {
            // SAFETY: cuda.h: `cuMemcpyDtoHAsync(void *, CUdeviceptr, size_t, CUstream)`; both ranges lie inside buffers
            // that `copy` keeps until the stream was waited for, and the host cannot read or write meanwhile.
            unsafe { sys::cuMemcpyDtoHAsync_v2(target, source, bytes, self.raw) }
        })
    }

    /// Queues device to device; between two contexts by cuMemcpyPeerAsync.
    pub(in crate::cuda) fn device_to_device(
        &self,
        to: Part<'_, DeviceMemory>,
        from: Part<'_, DeviceMemory>,
        bytes: usize,
    ) -> Result<()> {
        let target = to.0.range(to.1, bytes)?;
        let source = from.0.range(from.1, bytes)?;
        let held = [InFlight::begin(to.0)?, InFlight::begin(from.0)?];
        let (to, from) = (to.0.context(), from.0.context());
        if Arc::ptr_eq(to, from) {
            return self.copy("cuMemcpyDtoDAsync_v2", held, || {
                // SAFETY: cuda.h: `cuMemcpyDtoDAsync(CUdeviceptr, CUdeviceptr, size_t, CUstream)`; both ranges lie inside
                // buffers that `copy` keeps until the stream was waited for.
                unsafe { sys::cuMemcpyDtoDAsync_v2(target, source, bytes, self.raw) }
            });
        }
        self.copy("cuMemcpyPeerAsync", held, || {
            let (to, from) = (to.raw(), from.raw());
            // SAFETY: cuda.h: `cuMemcpyPeerAsync(CUdeviceptr, CUcontext, CUdeviceptr, CUcontext, size_t, CUstream)`; as
            // above, and the buffers retain their contexts.
            unsafe { sys::cuMemcpyPeerAsync(target, to, source, from, bytes, self.raw) }
        })
    }

    /// Makes a call that queues a copy, and keeps its buffers.
    fn copy(
        &self,
        call: &'static str,
        held: [InFlight; 2],
        queue: impl FnOnce() -> sys::CUresult,
    ) -> Result<()> {
        self.queue(held, || check(call, queue()))
    }

    /// Makes a call that queues any work, and keeps what it needs until the stream was waited for or, where it is captured,
    /// for the graph.
    pub(in crate::cuda) fn queue(
        &self,
        held: impl IntoIterator<Item = InFlight>,
        queue: impl FnOnce() -> Result<()>,
    ) -> Result<()> {
        self.context.bind()?;
        let outcome = queue();
        // Also where it failed: the code may be that of earlier work (cuda.h, notes on asynchronous calls), and then it
        // is not known whether this work was queued.
        self.holding.keep(held);
        outcome
    }

    /// Queues a mark.
    pub(in crate::cuda) fn record(&self, event: &RawEvent) -> Result<()> {
        self.holding.refuse_in_capture("recording an event")?;
        self.context.bind()?;
        // SAFETY: cuda.h: `cuEventRecord(CUevent, CUstream)`; both handles are alive. Of two devices is an error code.
        check("cuEventRecord", unsafe {
            sys::cuEventRecord(event.raw, self.raw)
        })
    }

    /// Queues a wait.
    pub(in crate::cuda) fn wait(&self, event: &RawEvent) -> Result<()> {
        self.holding.refuse_in_capture("waiting for an event")?;
        self.context.bind()?;
        // SAFETY: cuda.h: `cuStreamWaitEvent(CUstream, CUevent, unsigned int)`; both handles are alive, the event may belong
        // to another device and may be destroyed before the wait is over.
        check("cuStreamWaitEvent", unsafe {
            sys::cuStreamWaitEvent(self.raw, event.raw, 0)
        })
    }

    /// Waits for all queued work, and lets go of its buffers.
    pub(in crate::cuda) fn synchronize(&self) -> Result<()> {
        self.context.bind()?;
        // SAFETY: cuda.h: `cuStreamSynchronize(CUstream)`; the handle is alive.
        check("cuStreamSynchronize", unsafe {
            sys::cuStreamSynchronize(self.raw)
        })?;
        // Nothing was queued meanwhile: a stream is not `Sync`.
        self.holding.let_go();
        Ok(())
    }
}

impl Drop for RawStream {
    fn drop(&mut self) {
        if self.holding.is_busy() && self.synchronize().is_err() {
            // A leak in a process that lost its device is the lesser evil.
            self.holding.leak();
        }
        if self.context.bind().is_ok() {
            // SAFETY: cuda.h: `cuStreamDestroy(CUstream)`; from cuStreamCreate in `create`, destroyed once.
            let _ = unsafe { sys::cuStreamDestroy_v2(self.raw) };
        }
    }
}

/// An event handle.
#[derive(Debug)]
pub(in crate::cuda) struct RawEvent {
    raw: sys::CUevent,
    context: Arc<Context>,
}

// SAFETY: an event belongs to its context and not to a thread; calls on it may come from any thread.
unsafe impl Send for RawEvent {}

impl RawEvent {
    /// Makes an event that keeps a time.
    pub(in crate::cuda) fn create(context: &Arc<Context>) -> Result<Self> {
        context.bind()?;
        let mut raw = ptr::null_mut();
        // SAFETY: cuda.h: `cuEventCreate(CUevent *, unsigned int)` writes one handle; destroyed in Drop.
        check("cuEventCreate", unsafe {
            sys::cuEventCreate(&raw mut raw, 0)
        })?;
        Ok(Self {
            raw,
            context: Arc::clone(context),
        })
    }

    /// Milliseconds between two reached events of one device, as the driver gives them (about 0.5 us fine).
    pub(in crate::cuda) fn milliseconds_since(&self, earlier: &Self) -> Result<f32> {
        self.context.bind()?;
        let mut milliseconds = 0.0f32;
        let code = if has_symbol("cuEventElapsedTime_v2") {
            // SAFETY: cuda.h: `cuEventElapsedTime(float *, CUevent, CUevent)` writes one float; both handles are alive.
            unsafe { sys::cuEventElapsedTime_v2(&raw mut milliseconds, earlier.raw, self.raw) }
        } else {
            // SAFETY: cuda.h up to 12.7: the same under the older name; both handles are alive.
            unsafe { sys::cuEventElapsedTime(&raw mut milliseconds, earlier.raw, self.raw) }
        };
        match code {
            EVENT_INVALID | NOT_READY => Err(DeviceError::EventNotReady),
            _ => check("cuEventElapsedTime", code).map(|()| milliseconds),
        }
    }
}

impl Drop for RawEvent {
    fn drop(&mut self) {
        if self.context.bind().is_ok() {
            // SAFETY: cuda.h: `cuEventDestroy(CUevent)`; from cuEventCreate in `create`, destroyed once. It may be destroyed
            // before it is reached.
            let _ = unsafe { sys::cuEventDestroy_v2(self.raw) };
        }
    }
}
