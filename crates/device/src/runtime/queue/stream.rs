//! [`Stream`]: the shape that every backend has, over a handle of a vendor's runtime.

use std::marker::PhantomData;
use std::sync::Arc;

use super::super::buffer::{DeviceBuffer, Event};
use super::super::context::Context;
use super::super::graph::RawGraph;
use super::super::table::Vendor;
use super::RawStream;
use crate::backend::{self, Latch};
use crate::error::Result;
use crate::memory::HostBuffer;

/// A stream of a device.
pub struct Stream<V: Vendor>(RawStream, PhantomData<V>);

/// Work of a device that was captured.
pub struct Graph<V: Vendor>(RawGraph, PhantomData<V>);

impl<V: Vendor> Stream<V> {
    pub(in crate::runtime) fn create(context: &Arc<Context>) -> Result<Self> {
        RawStream::create(context).map(|raw| Self(raw, PhantomData))
    }

    /// The handle and what it holds.
    pub(in crate::runtime) fn raw(&self) -> &RawStream {
        &self.0
    }
}

impl<V: Vendor> backend::Stream for Stream<V> {
    type Event = Event<V>;
    type DeviceBuffer = DeviceBuffer<V>;
    type Graph = Graph<V>;

    fn host_to_device(
        &self,
        to: (&DeviceBuffer<V>, usize),
        from: (&HostBuffer, usize),
        bytes: usize,
    ) -> Result<()> {
        self.0
            .host_to_device((to.0.raw(), to.1), (&from.0.memory, from.1), bytes)
    }

    fn device_to_host(
        &self,
        to: (&HostBuffer, usize),
        from: (&DeviceBuffer<V>, usize),
        bytes: usize,
    ) -> Result<()> {
        self.0
            .device_to_host((&to.0.memory, to.1), (from.0.raw(), from.1), bytes)
    }

    fn device_to_device(
        &self,
        to: (&DeviceBuffer<V>, usize),
        from: (&DeviceBuffer<V>, usize),
        bytes: usize,
    ) -> Result<()> {
        self.0
            .device_to_device((to.0.raw(), to.1), (from.0.raw(), from.1), bytes)
    }

    fn record(&self, event: &Event<V>) -> Result<()> {
        self.0.record(event.raw())
    }

    fn wait(&self, event: &Event<V>) -> Result<()> {
        self.0.wait(event.raw())
    }

    /// Streams here are held by a kernel that spins on a flag, not by a latch.
    fn hold(&self, _latch: &Latch) -> Result<bool> {
        Ok(false)
    }

    fn capture(&self, record: &mut dyn FnMut() -> Result<()>) -> Result<Option<Graph<V>>> {
        let graph = RawGraph::capture(&self.0, record)?;
        Ok(graph.map(|graph| Graph(graph, PhantomData)))
    }

    fn launch(&self, graph: &Graph<V>) -> Result<()> {
        graph.0.launch(&self.0)
    }

    fn synchronize(&self) -> Result<()> {
        self.0.synchronize()
    }
}
