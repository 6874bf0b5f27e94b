//! The `cuda` backend: NVIDIA's driver API loaded at run time.
//!
//! Plain `cuMemAlloc` for device memory and `cuMemHostAlloc` for locked memory, streams without legacy
//! synchronisation, events with times, captured graphs, kernels from PTX.

mod collectives;
mod context;
mod graph;
mod kernel;
mod library;
mod memory;
mod opened;
mod queue;
mod raw;

use std::ffi::CStr;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use crate::backend::{self, Backend, DeviceDescription, DriverFacts, TimeSource};
use crate::error::{DeviceError, Result};
use crate::kernel::{FLAG_BYTES, HostFlag, KernelCode};
use crate::memory::HostBuffer;
use crate::memory::HostKind;
use crate::nodes::Nodes;
use context::{Context, Handle};
pub use kernel::Kernel;
pub use queue::{Graph, Stream};

/// NVIDIA's driver.
pub struct Cuda {
    facts: DriverFacts,
    devices: Vec<DeviceDescription>,
    /// Whose nodes host memory is on.
    nodes: Nodes,
    /// Contexts that are open, so that a device opened twice has one.
    open: Mutex<Vec<Weak<Context>>>,
}

impl Backend for Cuda {
    type Device = Device;

    const NAME: &'static str = "cuda";

    fn open() -> Result<Self> {
        library::load()?;
        let facts = DriverFacts {
            interface: library::interface_version().ok(),
            soft_box: library::soft_box(),
        };
        let count = library::device_count()?;
        if count == 0 {
            let reason = "it counts 0 devices; is CUDA_VISIBLE_DEVICES empty?".to_owned();
            return Err(DeviceError::NoDevice {
                backend: Self::NAME,
                reason,
            });
        }
        let devices = (0..count).map(describe).collect::<Result<_>>()?;
        Ok(Self {
            facts,
            devices,
            nodes: Nodes::of(raw::address_of),
            open: Mutex::new((0..count).map(|_| Weak::new()).collect()),
        })
    }

    fn driver(&self) -> &DriverFacts {
        &self.facts
    }

    fn devices(&self) -> &[DeviceDescription] {
        &self.devices
    }

    fn time_source(&self) -> TimeSource {
        if self.facts.soft_box.is_some() {
            TimeSource::Simulated
        } else {
            TimeSource::DeviceEvent
        }
    }

    fn device(&self, ordinal: usize) -> Result<Device> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let count = self.devices.len();
        let slot = open.get_mut(ordinal).ok_or(DeviceError::NoSuchDevice {
            backend: Self::NAME,
            ordinal,
            count,
        })?;
        let multiprocessors = self.devices[ordinal].multiprocessors;
        if let Some(context) = slot.upgrade() {
            return Ok(Device {
                ordinal,
                multiprocessors,
                nodes: self.nodes,
                context,
            });
        }
        let context = Arc::new(Context::retain(Handle::of(ordinal)?)?);
        *slot = Arc::downgrade(&context);
        Ok(Device {
            ordinal,
            multiprocessors,
            nodes: self.nodes,
            context,
        })
    }
}

fn describe(ordinal: usize) -> Result<DeviceDescription> {
    let handle = Handle::of(ordinal)?;
    let name = handle.name()?;
    let positive = |attribute| handle.attribute(attribute).filter(|value| *value > 0);
    Ok(DeviceDescription {
        ordinal,
        uuid: handle.uuid().ok().map(|bytes| uuid_text(&name, &bytes)),
        name,
        pci: handle.pci().ok(),
        node: None,
        cpu: None,
        memory_bytes: handle.memory_bytes().ok(),
        copy_engines: positive(raw::ASYNC_ENGINE_COUNT).and_then(|count| u32::try_from(count).ok()),
        cache_bytes: positive(raw::L2_CACHE_SIZE).and_then(|bytes| u64::try_from(bytes).ok()),
        multiprocessors: positive(raw::MULTIPROCESSOR_COUNT)
            .and_then(|count| u32::try_from(count).ok()),
    })
}

/// `GPU-` or `MIG-` and the five groups; the driver gives the bytes only, and names a MIG instance in its name.
fn uuid_text(name: &str, bytes: &[u8; 16]) -> String {
    let hex = |range: std::ops::Range<usize>| {
        bytes[range]
            .iter()
            .map(|b| format!("{b:02x}"))
            .collect::<String>()
    };
    let prefix = if name.contains(" MIG ") { "MIG" } else { "GPU" };
    format!(
        "{prefix}-{}-{}-{}-{}-{}",
        hex(0..4),
        hex(4..6),
        hex(6..8),
        hex(8..10),
        hex(10..16)
    )
}

/// An opened NVIDIA device or MIG instance.
#[derive(Clone)]
pub struct Device {
    ordinal: usize,
    multiprocessors: Option<u32>,
    nodes: Nodes,
    context: Arc<Context>,
}

impl backend::Device for Device {
    type Stream = Stream;
    type Kernel = Kernel;
    type Event = Event;
    type DeviceBuffer = DeviceBuffer;

    fn ordinal(&self) -> usize {
        self.ordinal
    }

    fn alloc(&self, bytes: usize) -> Result<DeviceBuffer> {
        memory::DeviceMemory::allocate(&self.context, bytes)
            .map(|memory| DeviceBuffer(Arc::new(memory)))
    }

    fn alloc_host(&self, kind: HostKind, bytes: usize, node: Option<u32>) -> Result<HostBuffer> {
        match kind {
            HostKind::Pageable => HostBuffer::from_pages_of(self.nodes, kind, bytes, node),
            HostKind::Pinned => {
                // The driver allocates the pages in this thread, so the thread's policy decides on the node.
                let policy = self.nodes.policy(node)?;
                let memory = memory::pinned(&self.context, bytes)?;
                drop(policy);
                HostBuffer::placed(memory, kind, node, self.nodes)
            }
        }
    }

    fn run_on(&self, node: Option<u32>) -> Result<bool> {
        self.nodes.run_on(node)
    }

    fn stream(&self) -> Result<Stream> {
        Stream::create(&self.context)
    }

    fn event(&self) -> Result<Event> {
        queue::RawEvent::create(&self.context).map(Event)
    }

    fn can_access_peer(&self, peer: &Self) -> Result<bool> {
        self.context.device.can_access(peer.context.device)
    }

    fn enable_peer(&self, peer: &Self) -> Result<()> {
        self.context.enable_peer(&peer.context)
    }

    fn disable_peer(&self, peer: &Self) -> Result<()> {
        self.context.disable_peer(&peer.context)
    }

    fn memory(&self) -> Result<(u64, u64)> {
        self.context.memory()
    }

    fn multiprocessors(&self) -> Option<u32> {
        self.multiprocessors
    }

    fn load(&self, code: &KernelCode) -> Result<Kernel> {
        kernel::load(&self.context, code)
    }

    fn flag(&self) -> Result<HostFlag> {
        memory::pinned(&self.context, FLAG_BYTES).map(HostFlag::new)
    }

    fn try_module(&self, image: &CStr) -> Result<()> {
        self.context.try_module(image)
    }
}

/// Memory of an NVIDIA device.
pub struct DeviceBuffer(Arc<memory::DeviceMemory>);

impl backend::DeviceBuffer for DeviceBuffer {
    fn len(&self) -> usize {
        self.0.len()
    }
}

/// An event of an NVIDIA device.
#[derive(Debug)]
pub struct Event(queue::RawEvent);

impl backend::Event for Event {
    fn nanoseconds_since(&self, earlier: &Self) -> Result<f64> {
        self.0
            .milliseconds_since(&earlier.0)
            .map(|milliseconds| f64::from(milliseconds) * 1e6)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uuids_are_written_as_the_vendor_writes_them() {
        let bytes = [
            0x29, 0x27, 0xd0, 0x7e, 0x3f, 0xe9, 0x79, 0x04, 0x9e, 0x08, 0xb0, 0x8b, 0x82, 0xd9,
            0xa3, 0x7d,
        ];
        // As `nvidia-smi -L` prints the first GPU of a public A100 listing.
        assert_eq!(
            uuid_text("NVIDIA A100", &bytes),
            "GPU-2927d07e-3fe9-7904-9e08-b08b82d9a37d"
        );
        assert!(uuid_text("NVIDIA A100 MIG 1g.10gb", &bytes).starts_with("MIG-"));
    }
}
