//! The calls that capture, instantiate and launch graphs. What may be captured is decided by the stream.
#![expect(unsafe_code, reason = "C ABI of the CUDA driver")]

use std::ptr;
use std::sync::Arc;

use crate::cuda::raw as sys;

use crate::cuda::context::Context;
use crate::cuda::library::{check, require};
use crate::cuda::queue::ffi::RawStream;
use crate::error::{DeviceError, Result};
use crate::memory::Needs;

/// Functions that drivers before CUDA 11.4 lack, and that nothing but graphs needs.
const REQUIRED: [&str; 6] = [
    "cuStreamBeginCapture_v2",
    "cuStreamEndCapture",
    "cuGraphInstantiateWithFlags",
    "cuGraphLaunch",
    "cuGraphExecDestroy",
    "cuGraphDestroy",
];

/// An executable graph.
///
/// Invariant: `needs` keeps alive all that its work reaches; each launch counts it as held until its stream was waited for.
pub(in crate::cuda) struct RawGraph {
    raw: sys::CUgraphExec,
    context: Arc<Context>,
    needs: Needs,
}

impl RawGraph {
    /// Captures what `record` queues in a stream.
    pub(in crate::cuda) fn capture(
        stream: &RawStream,
        record: &mut dyn FnMut() -> Result<()>,
    ) -> Result<Self> {
        require(&REQUIRED)?;
        let capture = Capture::begin(stream)?;
        record()?;
        let (graph, needs) = capture.end()?;
        let mut raw = ptr::null_mut();
        // SAFETY: cuda.h: `cuGraphInstantiateWithFlags(CUgraphExec *, CUgraph, unsigned long long)` writes one handle, which is
        // destroyed in Drop; the graph is alive. Flags 0: none of them is wanted.
        let code = unsafe { sys::cuGraphInstantiateWithFlags(&raw mut raw, graph.0, 0) };
        check("cuGraphInstantiateWithFlags", code)?;
        Ok(Self {
            raw,
            context: Arc::clone(stream.context()),
            needs,
        })
    }

    /// Queues its work in a stream of the same device.
    pub(in crate::cuda) fn launch(&self, stream: &RawStream) -> Result<()> {
        if !Arc::ptr_eq(&self.context, stream.context()) {
            return Err(DeviceError::Argument {
                what: "the graph",
                why: "it was captured on another device than the stream's".to_owned(),
            });
        }
        stream.queue(self.needs.again()?, || {
            // SAFETY: cuda.h: `cuGraphLaunch(CUgraphExec, CUstream)`; both are alive, and `queue` keeps what the graph needs
            // until the stream was waited for.
            check("cuGraphLaunch", unsafe {
                sys::cuGraphLaunch(self.raw, stream.raw())
            })
        })
    }
}

impl Drop for RawGraph {
    fn drop(&mut self) {
        if self.context.bind().is_ok() {
            // SAFETY: cuda.h: `cuGraphExecDestroy(CUgraphExec)`; from cuGraphInstantiateWithFlags in `capture`, destroyed
            // once. One that is in flight is freed when it is done, as its description there says.
            let _ = unsafe { sys::cuGraphExecDestroy(self.raw) };
        }
    }
}

/// A capture under way, which ends when it is dropped: also where `record` fails or panics.
struct Capture<'a>(&'a RawStream);

impl<'a> Capture<'a> {
    fn begin(stream: &'a RawStream) -> Result<Self> {
        let mode = sys::CAPTURE_THREAD_LOCAL;
        stream.context().bind()?;
        stream.holding().begin_capture()?;
        // SAFETY: cuda.h: `cuStreamBeginCapture(CUstream, CUstreamCaptureMode)`; the stream is alive.
        let code = unsafe { sys::cuStreamBeginCapture_v2(stream.raw(), mode) };
        check("cuStreamBeginCapture_v2", code).inspect_err(|_| {
            stream.holding().end_capture();
        })?;
        Ok(Self(stream))
    }

    /// The captured graph, and what its work holds.
    fn end(self) -> Result<(Graph, Needs)> {
        let graph = self.stop();
        let needs = self.0.holding().end_capture();
        Ok((graph?, needs))
    }

    fn stop(&self) -> Result<Graph> {
        self.0.context().bind()?;
        let mut graph = ptr::null_mut();
        // SAFETY: cuda.h: `cuStreamEndCapture(CUstream, CUgraph *)` writes one handle, null where the capture was invalidated.
        let code = unsafe { sys::cuStreamEndCapture(self.0.raw(), &raw mut graph) };
        let graph = Graph(graph);
        check("cuStreamEndCapture", code).map(|()| graph)
    }
}

impl Drop for Capture<'_> {
    fn drop(&mut self) {
        // After `end` there is nothing to stop.
        if self.0.holding().is_capturing() {
            drop(self.stop());
            drop(self.0.holding().end_capture());
        }
    }
}

/// A graph that was captured and not yet made executable; null is none.
struct Graph(sys::CUgraph);

impl Drop for Graph {
    fn drop(&mut self) {
        if !self.0.is_null() {
            // SAFETY: cuda.h: `cuGraphDestroy(CUgraph)`; from cuStreamEndCapture, destroyed once; executable graphs that were
            // made of it do not need it.
            let _ = unsafe { sys::cuGraphDestroy(self.0) };
        }
    }
}
