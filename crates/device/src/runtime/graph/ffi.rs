//! The calls that capture, instantiate and launch graphs. What may be captured is decided by the stream.
#![expect(unsafe_code, reason = "C ABI of a vendor's runtime")]

use std::ptr;
use std::sync::Arc;

use super::super::context::Context;
use super::super::library::Library;
use super::super::queue::Stream;
use super::super::symbols::Handle;
use crate::error::{DeviceError, Result};
use crate::memory::Needs;

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
        let library = self.context.library;
        let function = &library.functions.graph_launch;
        let call = library.need(function)?;
        stream.queue(self.needs.again()?, || {
            // SAFETY: hip_runtime_api.h: `hipGraphLaunch(hipGraphExec_t, hipStream_t)`; both are alive, and `queue` keeps
            // what the graph needs until the stream was waited for.
            let code = unsafe { call(self.raw, stream.raw()) };
            library.check(function.name, code)
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
        let function = &library.functions.capture_begin;
        let call = library.need(function)?;
        stream.context().bind()?;
        stream.holding().begin_capture()?;
        // SAFETY: hip_runtime_api.h: `hipStreamBeginCapture(hipStream_t, hipStreamCaptureMode)`; the stream is alive.
        let code = unsafe { call(stream.raw(), THREAD_LOCAL) };
        library
            .check(function.name, code)
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
        let function = &library.functions.capture_end;
        let call = library.need(function)?;
        self.0.context().bind()?;
        let mut raw = ptr::null_mut();
        // SAFETY: hip_runtime_api.h: `hipStreamEndCapture(hipStream_t, hipGraph_t *)` writes one handle, null where the
        // capture was invalidated.
        let code = unsafe { call(self.0.raw(), &raw mut raw) };
        let graph = CapturedGraph { raw, library };
        library.check(function.name, code).map(|()| graph)
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
