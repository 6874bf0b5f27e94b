//! Streams and events of a runtime in the shape that every backend has.

use super::graph::Graph;
use super::memory::DeviceBuffer;
use super::queue::{Event, Kind, Stream};
use crate::backend::{self, Latch};
use crate::error::Result;
use crate::memory::{HostBuffer, InFlight, check_range};

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
        self.mark(event)
    }

    fn wait(&self, event: &Event) -> Result<()> {
        self.wait_for(event)
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
        self.finish()
    }
}

impl backend::Event for Event {
    fn nanoseconds_since(&self, earlier: &Self) -> Result<f64> {
        let milliseconds = self.milliseconds_since(earlier)?;
        Ok(f64::from(milliseconds) * 1e6)
    }
}

impl backend::DeviceBuffer for DeviceBuffer {
    fn len(&self) -> usize {
        self.0.len()
    }
}
