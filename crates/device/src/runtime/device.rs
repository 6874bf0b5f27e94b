//! [`Runtime`]: a vendor's library with its devices, in the shape that every backend has.

use std::marker::PhantomData;
use std::sync::Arc;

use super::codes;
use super::context::Context;
use super::kernel::{self, Kernel};
use super::library::Library;
use super::memory::{self, DeviceBuffer, DeviceMemory, HostWish};
use super::queue::{Event, Stream};
use super::table::Vendor;
use crate::backend::{self, Backend, DeviceDescription, DriverFacts, TimeSource};
use crate::error::{DeviceError, Result};
use crate::kernel::{FLAG_BYTES, HostFlag, KernelCode};
use crate::memory::{HostBuffer, HostKind};

/// A vendor's runtime that has devices.
pub struct Runtime<V: Vendor> {
    facts: DriverFacts,
    devices: Vec<DeviceDescription>,
    contexts: Vec<Arc<Context>>,
    vendor: PhantomData<V>,
}

impl<V: Vendor> Backend for Runtime<V> {
    type Device = Device;

    const NAME: &'static str = V::TABLE.backend;

    fn open() -> Result<Self> {
        let library = Library::load(V::TABLE)?;
        let facts = DriverFacts {
            interface: library.version(),
            soft_box: library.soft_box(),
        };
        let count = library.device_count()?;
        if count == 0 {
            let reason = format!(
                "it counts 0 devices; is {} empty? {}",
                V::TABLE.visible,
                V::TABLE.without_device
            );
            return Err(codes::no_device(V::TABLE, reason));
        }
        let contexts = (0..count).map(|ordinal| Context::new(library, ordinal).map(Arc::new));
        let contexts = contexts.collect::<Result<Vec<_>>>()?;
        let devices = contexts.iter().enumerate();
        let devices = devices.map(|(ordinal, context)| describe(ordinal, context));
        Ok(Self {
            facts,
            devices: devices.collect::<Result<_>>()?,
            contexts,
            vendor: PhantomData,
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

    fn can_access_peer(&self, ordinal: usize, peer: usize) -> Result<bool> {
        self.context(ordinal)?.can_access(self.context(peer)?)
    }

    fn device(&self, ordinal: usize) -> Result<Device> {
        let context = self.context(ordinal)?;
        // A device that cannot be used is told here and not at the first allocation.
        context.bind()?;
        Ok(Device {
            ordinal,
            multiprocessors: self.devices[ordinal].multiprocessors,
            context: Arc::clone(context),
        })
    }
}

impl<V: Vendor> Runtime<V> {
    fn context(&self, ordinal: usize) -> Result<&Arc<Context>> {
        let missing = || DeviceError::NoSuchDevice {
            backend: Self::NAME,
            ordinal,
            count: self.devices.len(),
        };
        self.contexts.get(ordinal).ok_or_else(missing)
    }
}

/// A device as the library describes it, which does not wake it.
fn describe(ordinal: usize, context: &Context) -> Result<DeviceDescription> {
    let (library, device) = (context.library, context.device);
    let numbers = library.table.attributes.as_ref();
    let attribute = |number: Option<u32>| library.device_attribute(device, number?);
    let name = library.device_name(device)?;
    let uuid = library.device_uuid(device);
    Ok(DeviceDescription {
        ordinal,
        uuid: uuid.and_then(|bytes| (library.table.uuid)(&name, bytes)),
        name,
        pci: library.device_pci(device),
        memory_bytes: library.device_memory(device),
        is_integrated: attribute(numbers.map(|numbers| numbers.integrated)) == Some(1),
        cache_bytes: attribute(numbers.map(|numbers| numbers.l2_bytes)).map(u64::from),
        multiprocessors: attribute(numbers.map(|numbers| numbers.multiprocessors)),
        ..DeviceDescription::default()
    })
}

/// `GPU-` and the bytes: AMD's 16 bytes are 16 digits as text, of which a card that has no number gives none.
pub(crate) fn plain_uuid(_name: &str, bytes: [u8; 16]) -> Option<String> {
    if bytes.iter().all(|byte| *byte == 0) {
        return None;
    }
    if bytes.iter().all(u8::is_ascii_alphanumeric) {
        return Some(format!("GPU-{}", String::from_utf8_lossy(&bytes)));
    }
    let hex: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    Some(format!("GPU-{}", hex.concat()))
}

/// `GPU-` or `MIG-` and the five groups of a UUID; CUDA's driver gives the bytes only, and names a MIG instance in its name.
pub(crate) fn grouped_uuid(name: &str, bytes: [u8; 16]) -> Option<String> {
    let mut text = if name.contains(" MIG ") { "MIG" } else { "GPU" }.to_owned();
    for (at, byte) in bytes.iter().enumerate() {
        let dash = if [0, 4, 6, 8, 10].contains(&at) {
            "-"
        } else {
            ""
        };
        text.push_str(&format!("{dash}{byte:02x}"));
    }
    Some(text)
}

/// An opened device.
#[derive(Clone)]
pub struct Device {
    ordinal: usize,
    multiprocessors: Option<u32>,
    context: Arc<Context>,
}

impl Device {
    /// The device as the library knows it.
    pub(crate) fn context(&self) -> &Arc<Context> {
        &self.context
    }
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
        let memory = DeviceMemory::allocate(&self.context, bytes)?;
        Ok(DeviceBuffer(Arc::new(memory)))
    }

    fn alloc_host(&self, kind: HostKind, bytes: usize, node: Option<u32>) -> Result<HostBuffer> {
        let nodes = self.context.library.nodes;
        let wish = match kind {
            HostKind::Pageable => return HostBuffer::from_pages_of(nodes, kind, bytes, node),
            HostKind::Pinned => HostWish::Pinned,
        };
        // The runtime allocates the pages in this thread, so the thread's policy decides on the node where the runtime
        // heeds it.
        let policy = nodes.policy(node)?;
        let memory = memory::host(&self.context, wish, bytes, node.is_some())?;
        drop(policy);
        HostBuffer::placed(memory, kind, node, nodes)
    }

    fn run_on(&self, node: Option<u32>) -> Result<bool> {
        self.context.library.nodes.run_on(node)
    }

    fn stream(&self) -> Result<Stream> {
        Stream::create(&self.context)
    }

    fn event(&self) -> Result<Event> {
        Event::create(&self.context)
    }

    fn can_access_peer(&self, peer: &Self) -> Result<bool> {
        self.context.can_access(&peer.context)
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
        self.context.library.table.takes()?;
        memory::host(&self.context, HostWish::Shared, FLAG_BYTES, false).map(HostFlag::new)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uuid_is_written_as_nvidias_tools_write_it() {
        let bytes = [
            0x29, 0x27, 0xd0, 0x7e, 0x3f, 0xe9, 0x79, 0x04, 0x9e, 0x08, 0xb0, 0x8b, 0x82, 0xd9,
            0xa3, 0x7d,
        ];
        // As `nvidia-smi -L` prints the first GPU of a public A100 listing.
        assert_eq!(
            grouped_uuid("NVIDIA A100", bytes).as_deref(),
            Some("GPU-2927d07e-3fe9-7904-9e08-b08b82d9a37d")
        );
        let mig = grouped_uuid("NVIDIA A100 MIG 1g.10gb", bytes).unwrap();
        assert!(mig.starts_with("MIG-"));
    }

    #[test]
    fn a_uuid_is_written_as_amds_tools_write_it() {
        // As `rocminfo` prints the Uuid of an RX 7900 XTX: GPU- and 16 digits.
        let uuid_text = |bytes| plain_uuid("", bytes);
        assert_eq!(
            uuid_text(*b"d9b3a2c1f0e45678").as_deref(),
            Some("GPU-d9b3a2c1f0e45678")
        );
        assert_eq!(uuid_text([0; 16]), None);
        let binary = [0xab, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 0xff];
        assert_eq!(
            uuid_text(binary).as_deref(),
            Some("GPU-ab0102030405060708090a0b0c0d0eff")
        );
    }
}
