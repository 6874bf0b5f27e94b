//! The calls that capture, instantiate and launch graphs, and streams in the shape that every backend has.
#![expect(unsafe_code, reason = "C ABI of a vendor's runtime")]

use std::ptr;
use std::sync::Arc;

use super::super::context::Context;
use super::super::library::Library;
use super::super::memory::DeviceBuffer;
use super::super::queue::{Event, Kind, Stream};
use super::super::symbols::Handle;
use crate::backend::{self, Latch};
use crate::error::{DeviceError, Result};
use crate::memory::{HostBuffer, InFlight, Needs, check_range};

/// Work of a device that was captured, as an executable graph.
///
/// Invariant: `needs` keeps alive all that its work reaches; each launch counts it as held until its stream was waited for.
pub struct Graph {
    raw: Handle,
    context: Arc<Context>,
    needs: Needs,
}

/// Whether the library has all that graphs take.
fn has_graphs(library: &Library) -> bool {
    let all = &library.functions;
    all.capture_begin.call.is_some()
        && all.capture_end.call.is_some()
        && match &library.driver {
            Some(driver) => driver.graph_instantiate.call.is_some(),
            None => all.graph_instantiate.call.is_some(),
        }
        && all.graph_launch.call.is_some()
        && all.graph_exec_destroy.call.is_some()
        && all.graph_destroy.call.is_some()
}

impl Graph {
    /// Captures what `record` queues in a stream; `None`, and nothing is called, where the library has no graphs.
    pub(in crate::runtime) fn capture(
        stream: &Stream,
        record: &mut dyn FnMut() -> Result<()>,
    ) -> Result<Option<Self>> {
        let library = stream.context().library;
        if !has_graphs(library) {
            return Ok(None);
        }
        let capture = Capture::begin(stream)?;
        record()?;
        let (graph, needs) = capture.end()?;
        let mut raw = ptr::null_mut();
        let (name, code) = if let Some(driver) = &library.driver {
            let call = library.need(&driver.graph_instantiate)?;
            // SAFETY: cuda.h: `cuGraphInstantiateWithFlags(CUgraphExec *, CUgraph, unsigned long long)` writes one handle, which
            // is destroyed in Drop; the graph is alive. Flags 0: none of them is wanted.
            let code = unsafe { call(&raw mut raw, graph.raw, 0) };
            (driver.graph_instantiate.name, code)
        } else {
            let function = &library.functions.graph_instantiate;
            let call = library.need(function)?;
            // SAFETY: hip_runtime_api.h: `hipGraphInstantiate(hipGraphExec_t *, hipGraph_t, hipGraphNode_t *, char *, size_t)`
            // writes one handle, which is destroyed in Drop; the graph is alive; node and log may be null where the log has
            // no bytes.
            let code =
                unsafe { call(&raw mut raw, graph.raw, ptr::null_mut(), ptr::null_mut(), 0) };
            (function.name, code)
        };
        library.check(name, code)?;
        Ok(Some(Self {
            raw,
            context: Arc::clone(stream.context()),
            needs,
        }))
    }

    /// Queues its work in a stream of the same device.
    pub(in crate::runtime) fn launch(&self, stream: &Stream) -> Result<()> {
        if !self.context.is(stream.context()) {
            return Err(DeviceError::Argument {
                what: "the graph",
                why: "it was captured on another device than the stream's".to_owned(),
            });
        }
        let (name, call) = self.context.ready(|all| &all.graph_launch)?;
        stream.queue(self.needs.again()?, || {
            // SAFETY: hip_runtime_api.h: `hipGraphLaunch(hipGraphExec_t, hipStream_t)`; both are alive, and `queue` keeps
            // what the graph needs until the stream was waited for.
            let code = unsafe { call(self.raw, stream.raw()) };
            self.context.library.check(name, code)
        })
    }
}

impl Drop for Graph {
    fn drop(&mut self) {
        let destroy = self.context.library.functions.graph_exec_destroy.call;
        if let (Some(call), Ok(())) = (destroy, self.context.bind()) {
            // SAFETY: hip_runtime_api.h: `hipGraphExecDestroy(hipGraphExec_t)`; from hipGraphInstantiate in `capture`,
            // destroyed once.
            let _ = unsafe { call(self.raw) };
        }
    }
}

/// A capture under way, which ends when it is dropped: also where `record` fails or panics.
struct Capture<'a>(&'a Stream);

impl<'a> Capture<'a> {
    fn begin(stream: &'a Stream) -> Result<Self> {
        const THREAD_LOCAL: u32 = 1; // hipStreamCaptureModeThreadLocal
        let library = stream.context().library;
        let (name, call) = stream.context().ready(|all| &all.capture_begin)?;
        stream.holding().begin_capture()?;
        // SAFETY: hip_runtime_api.h: `hipStreamBeginCapture(hipStream_t, hipStreamCaptureMode)`; the stream is alive.
        let code = unsafe { call(stream.raw(), THREAD_LOCAL) };
        library
            .check(name, code)
            .inspect_err(|_| drop(stream.holding().end_capture()))?;
        Ok(Self(stream))
    }

    /// The captured graph, and what its work needs.
    fn end(self) -> Result<(CapturedGraph, Needs)> {
        let graph = self.stop();
        let needs = self.0.holding().end_capture();
        Ok((graph?, needs))
    }

    fn stop(&self) -> Result<CapturedGraph> {
        let library = self.0.context().library;
        let (name, call) = self.0.context().ready(|all| &all.capture_end)?;
        let mut raw = ptr::null_mut();
        // SAFETY: hip_runtime_api.h: `hipStreamEndCapture(hipStream_t, hipGraph_t *)` writes one handle, null where the
        // capture was invalidated.
        let code = unsafe { call(self.0.raw(), &raw mut raw) };
        let graph = CapturedGraph { raw, library };
        library.check(name, code).map(|()| graph)
    }
}

impl Drop for Capture<'_> {
    fn drop(&mut self) {
        // After `end` there is nothing to stop, and the list is gone.
        if self.0.holding().is_capturing() {
            drop(self.stop());
            drop(self.0.holding().end_capture());
        }
    }
}

/// A graph that was captured and not yet made executable; null is none.
struct CapturedGraph {
    raw: Handle,
    library: &'static Library,
}

impl Drop for CapturedGraph {
    fn drop(&mut self) {
        let destroy = self.library.functions.graph_destroy.call;
        if let (Some(call), false) = (destroy, self.raw.is_null()) {
            // SAFETY: hip_runtime_api.h: `hipGraphDestroy(hipGraph_t)`; from hipStreamEndCapture, destroyed once;
            // executable graphs that were made of it do not need it.
            let _ = unsafe { call(self.raw) };
        }
    }
}

impl backend::Stream for Stream {
    type Event = Event;
    type DeviceBuffer = DeviceBuffer;
    type Graph = Graph;

    fn host_to_device(
        &self,
        to: (&DeviceBuffer, usize),
        (from, offset): (&HostBuffer, usize),
        bytes: usize,
    ) -> Result<()> {
        let target = self.device_address(to, bytes)?;
        check_range(offset, bytes, from.len())?;
        let source = from.memory.pointer().as_ptr().wrapping_add(offset).cast();
        let held = [InFlight::begin(&to.0.0)?, InFlight::begin(&from.memory)?];
        self.copy(target, source, bytes, Kind::HostToDevice, held)
    }

    fn device_to_host(
        &self,
        (to, offset): (&HostBuffer, usize),
        from: (&DeviceBuffer, usize),
        bytes: usize,
    ) -> Result<()> {
        check_range(offset, bytes, to.len())?;
        let target = to.memory.pointer().as_ptr().wrapping_add(offset).cast();
        let source = self.device_address(from, bytes)?;
        let held = [InFlight::begin(&to.memory)?, InFlight::begin(&from.0.0)?];
        self.copy(target, source, bytes, Kind::DeviceToHost, held)
    }

    /// Between two devices by the call for peers. While it captures, a runtime gets the plain copy: ROCm's `hipMemcpyPeerAsync`
    /// copies at once and leaves the graph empty (clr, hip_peer.cpp), and the plain one goes by the memory's devices.
    fn device_to_device(
        &self,
        to: (&DeviceBuffer, usize),
        from: (&DeviceBuffer, usize),
        bytes: usize,
    ) -> Result<()> {
        let target = self.device_address(to, bytes)?;
        let source = self.device_address(from, bytes)?;
        let held = [InFlight::begin(&to.0.0)?, InFlight::begin(&from.0.0)?];
        let (to, from) = (to.0.0.context(), from.0.0.context());
        let is_captured = self.holding().is_capturing() && to.library.driver.is_none();
        if to.is(from) || is_captured {
            return self.copy(target, source, bytes, Kind::DeviceToDevice, held);
        }
        self.copy_peer((target, to), (source, from), bytes, held)
    }

    fn record(&self, event: &Event) -> Result<()> {
        self.holding().refuse_in_capture("recording an event")?;
        let (name, call) = self.context().ready(|all| &all.event_record)?;
        // SAFETY: hip_runtime_api.h: `hipEventRecord(hipEvent_t, hipStream_t)`; both are alive. Of two devices is an error
        // code.
        let code = unsafe { call(event.raw, self.raw()) };
        self.context().library.check(name, code)
    }

    fn wait(&self, event: &Event) -> Result<()> {
        self.holding().refuse_in_capture("waiting for an event")?;
        let (name, call) = self.context().ready(|all| &all.stream_wait)?;
        // SAFETY: hip_runtime_api.h: `hipStreamWaitEvent(hipStream_t, hipEvent_t, unsigned int)`; both are alive, the event
        // may belong to another device and may be destroyed before the wait is over.
        let code = unsafe { call(self.raw(), event.raw, 0) };
        self.context().library.check(name, code)
    }

    /// Streams here are held by a kernel that spins on a flag, not by a latch.
    fn hold(&self, _latch: &Latch) -> Result<bool> {
        Ok(false)
    }

    fn capture(&self, record: &mut dyn FnMut() -> Result<()>) -> Result<Option<Graph>> {
        Graph::capture(self, record)
    }

    fn launch(&self, graph: &Graph) -> Result<()> {
        graph.launch(self)
    }

    fn synchronize(&self) -> Result<()> {
        let (name, call) = self.context().ready(|all| &all.stream_synchronize)?;
        // SAFETY: hip_runtime_api.h: `hipStreamSynchronize(hipStream_t)`; the handle is alive.
        let code = unsafe { call(self.raw()) };
        self.context().library.check(name, code)?;
        // Nothing was queued meanwhile: a stream is not `Sync`.
        self.holding().let_go();
        Ok(())
    }
}
