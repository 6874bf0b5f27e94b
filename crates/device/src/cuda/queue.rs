//! Streams of the `cuda` backend. What they hold and for how long is decided where the driver is called.

pub(super) mod ffi;

use std::sync::Arc;

use super::context::Context;
use super::graph::RawGraph;
use super::{DeviceBuffer, Event};
use crate::backend::{self, Latch};
use crate::error::Result;
use crate::memory::HostBuffer;
pub(super) use ffi::{RawEvent, RawStream};

/// A stream of an NVIDIA device.
pub struct Stream(RawStream);

/// Work of an NVIDIA device that was captured.
pub struct Graph(RawGraph);

impl Stream {
    /// The handle, for collectives.
    pub(super) fn raw(&self) -> &RawStream {
        &self.0
    }

    pub(super) fn create(context: &Arc<Context>) -> Result<Self> {
        RawStream::create(context).map(Self)
    }
}

impl backend::Stream for Stream {
    type Event = Event;
    type DeviceBuffer = DeviceBuffer;
    type Graph = Graph;

    fn host_to_device(
        &self,
        to: (&DeviceBuffer, usize),
        from: (&HostBuffer, usize),
        bytes: usize,
    ) -> Result<()> {
        self.0
            .host_to_device((&to.0.0, to.1), (&from.0.memory, from.1), bytes)
    }

    fn device_to_host(
        &self,
        to: (&HostBuffer, usize),
        from: (&DeviceBuffer, usize),
        bytes: usize,
    ) -> Result<()> {
        self.0
            .device_to_host((&to.0.memory, to.1), (&from.0.0, from.1), bytes)
    }

    fn device_to_device(
        &self,
        to: (&DeviceBuffer, usize),
        from: (&DeviceBuffer, usize),
        bytes: usize,
    ) -> Result<()> {
        self.0
            .device_to_device((&to.0.0, to.1), (&from.0.0, from.1), bytes)
    }

    fn record(&self, event: &Event) -> Result<()> {
        self.0.record(&event.0)
    }

    fn wait(&self, event: &Event) -> Result<()> {
        self.0.wait(&event.0)
    }

    /// A latch is the host's; a device's stream is held by a kernel that looks at a flag.
    fn hold(&self, _latch: &Latch) -> Result<bool> {
        Ok(false)
    }

    fn capture(&self, record: &mut dyn FnMut() -> Result<()>) -> Result<Option<Graph>> {
        RawGraph::capture(&self.0, record).map(|graph| Some(Graph(graph)))
    }

    fn launch(&self, graph: &Graph) -> Result<()> {
        graph.0.launch(&self.0)
    }

    fn synchronize(&self) -> Result<()> {
        self.0.synchronize()
    }
}
