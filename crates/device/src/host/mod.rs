//! The `host` backend: real host memory, device i being a worker on a CPU and NUMA node of its own.
//!
//! It is what a machine without a GPU measures. It is never called a GPU, and its numbers are those of one
//! CPU core moving memory, not of a link. Pinned memory is memory that the kernel locked (`mlock`).

mod collectives;
mod ffi;
mod launch {
    mod ffi;
}
mod queue;

use std::sync::{Arc, OnceLock};

use topology::{Machine, Sysfs};

use crate::backend::{self, Backend, DeviceDescription, DriverFacts, TimeSource};
use crate::error::{DeviceError, Result};
use crate::kernel::{HostFlag, KernelCode};
use crate::memory::{HostBuffer, HostKind};
pub use collectives::{HostCollectives, HostCommunicator};
pub use queue::{Event, NoGraph, NoKernel, Stream};

/// Devices that the backend offers on any machine; where there are fewer CPUs, some share one.
pub const DEVICES: usize = 8;

/// Host memory and its workers.
pub struct Host {
    facts: DriverFacts,
    devices: Vec<DeviceDescription>,
    cpus: Vec<Vec<Seat>>,
}

/// A CPU that streams work on: each stream holds a clone, so that the count says how many do.
type Seat = Arc<usize>;

impl Backend for Host {
    type Device = Device;

    const NAME: &'static str = "host";

    fn open() -> Result<Self> {
        let allowed = numa::allowed_cpus()?;
        let nodes = nodes_with_cpus(&allowed);
        let cpus: Vec<Vec<Seat>> = (0..DEVICES).map(|i| cpus_of(i, &nodes)).collect();
        let devices = (0..DEVICES)
            .map(|ordinal| DeviceDescription {
                ordinal,
                name: format!("host memory, CPU {}", cpus[ordinal][0]),
                node: nodes[ordinal % nodes.len()].0,
                cpu: Some(*cpus[ordinal][0]),
                ..DeviceDescription::default()
            })
            .collect();
        Ok(Self {
            facts: DriverFacts::default(),
            devices,
            cpus,
        })
    }

    fn driver(&self) -> &DriverFacts {
        &self.facts
    }

    fn devices(&self) -> &[DeviceDescription] {
        &self.devices
    }

    fn time_source(&self) -> TimeSource {
        TimeSource::HostMonotonic
    }

    fn can_access_peer(&self, _ordinal: usize, _peer: usize) -> Result<bool> {
        Ok(true)
    }

    fn device(&self, ordinal: usize) -> Result<Device> {
        let description = self.devices.get(ordinal).ok_or(DeviceError::NoSuchDevice {
            backend: Self::NAME,
            ordinal,
            count: DEVICES,
        })?;
        Ok(Device {
            ordinal,
            node: description.node,
            cpus: self.cpus[ordinal].clone(),
            refused: Arc::default(),
        })
    }
}

/// A NUMA node, where the kernel numbers them, and those of its CPUs that this process may use.
type NodeCpus = (Option<u32>, Vec<Seat>);

/// The nodes that have usable CPUs; one without a number where the kernel describes none.
fn nodes_with_cpus(allowed: &[usize]) -> Vec<NodeCpus> {
    let seats = |cpus: Vec<usize>| cpus.into_iter().map(Arc::new).collect();
    let machine = Machine::read(&Sysfs::real()).ok();
    let nodes = machine.iter().flat_map(|machine| &machine.nodes);
    let nodes = nodes.filter_map(|node| {
        let is_its = |cpu: &usize| node.cpus.contains(*cpu);
        let cpus: Vec<usize> = allowed.iter().copied().filter(is_its).collect();
        (!cpus.is_empty()).then(|| (Some(node.id), seats(cpus)))
    });
    let nodes: Vec<NodeCpus> = nodes.collect();
    if nodes.is_empty() {
        return vec![(None, seats(allowed.to_vec()))];
    }
    nodes
}

/// The CPUs of device `i`, its own first: devices go round the nodes, and round the CPUs of each.
fn cpus_of(i: usize, nodes: &[NodeCpus]) -> Vec<Seat> {
    let cpus = &nodes[i % nodes.len()].1;
    let mut own_first = cpus.clone();
    own_first.rotate_left((i / nodes.len()) % cpus.len());
    own_first
}

/// A worker with memory on its node.
#[derive(Clone)]
pub struct Device {
    ordinal: usize,
    node: Option<u32>,
    cpus: Vec<Seat>,
    /// Why its memory is not bound to its node.
    refused: Arc<OnceLock<String>>,
}

impl backend::Device for Device {
    type Stream = Stream;
    type Kernel = NoKernel;
    type Event = Event;
    type DeviceBuffer = DeviceBuffer;

    fn ordinal(&self) -> usize {
        self.ordinal
    }

    /// On the device's node; where the system forbids binding, as default container profiles do, without it.
    fn alloc(&self, bytes: usize) -> Result<DeviceBuffer> {
        let pages = |node| HostBuffer::from_pages(HostKind::Pageable, bytes, node);
        match pages(self.node) {
            Err(DeviceError::HostMemory(refused)) if refused.is_forbidden() => {
                let buffer = pages(None)?;
                self.refused.get_or_init(|| refused.to_string());
                Ok(DeviceBuffer(buffer))
            }
            outcome => outcome.map(DeviceBuffer),
        }
    }

    fn binding_refused(&self) -> Option<String> {
        self.refused.get().cloned()
    }

    fn alloc_host(&self, kind: HostKind, bytes: usize, node: Option<u32>) -> Result<HostBuffer> {
        HostBuffer::from_pages(kind, bytes, node)
    }

    /// A stream works on that CPU of the node which has the fewest, the device's own one first.
    fn stream(&self) -> Result<Stream> {
        let seat = self.cpus.iter().min_by_key(|cpu| Arc::strong_count(cpu));
        Stream::start(seat.ok_or(numa::NumaError::NoCpu)?)
    }

    fn event(&self) -> Result<Event> {
        Ok(Event::default())
    }

    fn can_access_peer(&self, _peer: &Self) -> Result<bool> {
        Ok(true)
    }

    fn enable_peer(&self, _peer: &Self) -> Result<()> {
        Ok(())
    }

    fn disable_peer(&self, _peer: &Self) -> Result<()> {
        Ok(())
    }

    fn memory(&self) -> Result<(u64, u64)> {
        Err(DeviceError::Unsupported {
            what: "device memory size",
            why: "host memory is shared by all".to_owned(),
        })
    }

    fn multiprocessors(&self) -> Option<u32> {
        None
    }

    fn load(&self, _code: &KernelCode) -> Result<NoKernel> {
        Err(no_kernels("a kernel"))
    }

    fn flag(&self) -> Result<HostFlag> {
        Err(no_kernels("a flag of kernels"))
    }
}

fn no_kernels(what: &'static str) -> DeviceError {
    DeviceError::Unsupported {
        what,
        why: "the host backend runs no kernels".to_owned(),
    }
}

/// Memory of a host device; that of some length other processes can read where it is.
pub struct DeviceBuffer(HostBuffer);

impl backend::DeviceBuffer for DeviceBuffer {
    fn len(&self) -> usize {
        self.0.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_go_round_the_nodes_and_the_cpus_of_each() {
        let of = |cpus: [usize; 2]| cpus.map(Arc::new).to_vec();
        let nodes = [(Some(0), of([0, 1])), (Some(1), of([2, 3]))];
        let own: Vec<usize> = (0..6).map(|i| *cpus_of(i, &nodes)[0]).collect();
        // Nodes alternate; within a node CPUs in order, and the fifth device shares the first one's.
        assert_eq!(own, [0, 2, 1, 3, 0, 2]);
    }
}
