//! The shape that every backend has.

use std::sync::{Arc, OnceLock};

pub use record::quantity::TimeSource;
use record::{Busy, Mig};
use serde::{Deserialize, Serialize};
use topology::{NvLinks, Repairs};

use crate::error::Result;
use crate::kernel::{HostFlag, KernelCode, Launch};
use crate::memory::{HostBuffer, HostKind};

/// What is known of the driver behind a backend.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DriverFacts {
    /// Version of the interface, such as `CUDA 12.8`.
    pub interface: Option<String>,
    /// Name of the simulated machine, where the library is one of the simulated drivers.
    pub soft_box: Option<String>,
}

/// A device as its driver describes it, before it is opened, with what others know of it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceDescription {
    /// The backend's own index.
    pub ordinal: usize,
    /// The vendor's name.
    pub name: String,
    /// UUID such as `GPU-…` or `MIG-…`.
    pub uuid: Option<String>,
    /// PCI address as the driver prints it; the parent's for a MIG instance.
    pub pci: Option<String>,
    /// NUMA node, where the backend itself knows it.
    pub node: Option<u32>,
    /// CPU that does its copies, for the host backend.
    pub cpu: Option<usize>,
    /// Memory in bytes.
    pub memory_bytes: Option<u64>,
    /// Last-level cache of the device in bytes, where the driver says.
    pub cache_bytes: Option<u64>,
    /// Multiprocessors or compute units, where the driver says: what a grid that fills the chip is counted by.
    pub multiprocessors: Option<u32>,
    /// Whether it shares the processor's chip and memory, as the driver says.
    pub is_integrated: bool,
    /// The MIG instance, where the management library says that it is one.
    pub mig: Option<Mig>,
    /// Who else uses it; `None` where nobody can say.
    pub busy: Option<Busy>,
    /// What was repaired of its memory; `None` where no management library told of it.
    pub repairs: Option<Repairs>,
    /// Its NVLinks; `None` where no management library told of them.
    pub nvlinks: Option<NvLinks>,
}

impl DeviceDescription {
    /// The UUID of the MIG instance that it is.
    #[must_use]
    pub fn instance(&self) -> Option<&str> {
        let uuid = self.uuid.as_deref();
        uuid.filter(|uuid| uuid.starts_with("MIG-"))
    }
}

/// A driver that answered.
pub trait Backend: Sized {
    /// Its devices.
    type Device: Device;

    /// Its name on the command line.
    const NAME: &'static str;

    /// Loads and initialises the driver.
    ///
    /// # Errors
    /// The library or a symbol is missing, or the driver has no device.
    fn open() -> Result<Self>;

    /// What is known of the driver.
    fn driver(&self) -> &DriverFacts;

    /// Its devices in the driver's order.
    fn devices(&self) -> &[DeviceDescription];

    /// The clock behind its events.
    fn time_source(&self) -> TimeSource;

    /// Whether the driver says that a device can reach memory of another; neither is woken.
    ///
    /// # Errors
    /// No such device, or the driver refuses to answer.
    fn can_access_peer(&self, ordinal: usize, peer: usize) -> Result<bool>;

    /// Opens a device; opening it again gives the same context.
    ///
    /// # Errors
    /// No such device, or the driver refuses.
    fn device(&self, ordinal: usize) -> Result<Self::Device>;
}

/// An opened device.
pub trait Device: Clone {
    /// Its streams.
    type Stream: Launch<Kernel = Self::Kernel, Memory = Self::DeviceBuffer>
        + Stream<Event = Self::Event, DeviceBuffer = Self::DeviceBuffer>;
    /// Its loaded kernels.
    type Kernel;
    /// Its events.
    type Event: Event;
    /// Its memory.
    type DeviceBuffer: DeviceBuffer;

    /// The backend's index.
    fn ordinal(&self) -> usize;

    /// Allocates device memory with the plain allocator (no pool, no managed memory).
    ///
    /// # Errors
    /// Out of memory, or the device is lost.
    fn alloc(&self, bytes: usize) -> Result<Self::DeviceBuffer>;

    /// Allocates host memory for copies with this device, on a NUMA node where one is given: of the simulated machine where the driver is
    /// a simulated one, else of this machine.
    ///
    /// # Errors
    /// Out of memory, or a refused binding.
    fn alloc_host(&self, kind: HostKind, bytes: usize, node: Option<u32>) -> Result<HostBuffer>;

    /// Tells a simulated driver on which node of its box the calling thread runs from now on, for what it allocates and copies;
    /// `None` takes that back. `false` where the driver is none: there `numa` moves the thread.
    ///
    /// # Errors
    /// The box has no such node, or it has no CPUs.
    fn run_on(&self, node: Option<u32>) -> Result<bool> {
        let _ = node;
        Ok(false)
    }

    /// Why memory of this device is not bound to its node, where it should be and the system refused.
    fn binding_refused(&self) -> Option<String> {
        None
    }

    /// Makes a stream that does not wait for the device's default stream.
    ///
    /// # Errors
    /// The driver refuses.
    fn stream(&self) -> Result<Self::Stream>;

    /// Makes an event that carries a time.
    ///
    /// # Errors
    /// The driver refuses.
    fn event(&self) -> Result<Self::Event>;

    /// Whether the driver says that this device can reach memory of `peer`.
    ///
    /// # Errors
    /// The driver refuses to answer.
    fn can_access_peer(&self, peer: &Self) -> Result<bool>;

    /// Lets this device reach memory of `peer`; doing it twice is no error.
    ///
    /// # Errors
    /// `PeerRefused` where the driver does not allow it.
    fn enable_peer(&self, peer: &Self) -> Result<()>;

    /// Takes the access back; taking it back twice is no error.
    ///
    /// # Errors
    /// The driver refuses.
    fn disable_peer(&self, peer: &Self) -> Result<()>;

    /// Free and total bytes of device memory.
    ///
    /// # Errors
    /// The driver refuses.
    fn memory(&self) -> Result<(u64, u64)>;

    /// Multiprocessors or compute units, where the driver says.
    fn multiprocessors(&self) -> Option<u32>;

    /// Loads a kernel, compiling it where the vendor's runtime does that. Its first launch does no loading any more.
    ///
    /// # Errors
    /// `Unsupported` where the backend runs no kernels, has no form of this one or no compiler at hand; the driver's words.
    fn load(&self, code: &KernelCode) -> Result<Self::Kernel>;

    /// Makes a flag that kernels of this device can look at.
    ///
    /// # Errors
    /// `Unsupported` where the backend runs no kernels; out of memory.
    fn flag(&self) -> Result<HostFlag>;
}

/// Memory on a device.
pub trait DeviceBuffer {
    /// Its length in bytes.
    fn len(&self) -> usize;

    /// Whether it has no bytes; such a buffer cannot be allocated.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// A queue of work on one device, done in order.
///
/// Every copy holds its buffers until [`Stream::synchronize`] returned. Ranges are checked.
pub trait Stream {
    /// Events that it can record.
    type Event: Event;
    /// Memory that it can copy.
    type DeviceBuffer: DeviceBuffer;
    /// Work that was captured and can be launched as a whole.
    type Graph;

    /// Queues a copy of `bytes` from host memory to this stream's device.
    ///
    /// # Errors
    /// A range outside a buffer, a buffer that the host is using, or the driver's words.
    fn host_to_device(
        &self,
        to: (&Self::DeviceBuffer, usize),
        from: (&HostBuffer, usize),
        bytes: usize,
    ) -> Result<()>;

    /// Queues a copy of `bytes` from this stream's device to host memory.
    ///
    /// # Errors
    /// As [`Stream::host_to_device`].
    fn device_to_host(
        &self,
        to: (&HostBuffer, usize),
        from: (&Self::DeviceBuffer, usize),
        bytes: usize,
    ) -> Result<()>;

    /// Queues a copy of `bytes` between device memory, of one device or of two.
    ///
    /// Between two devices without peer access the driver stages it through the host.
    ///
    /// # Errors
    /// As [`Stream::host_to_device`].
    fn device_to_device(
        &self,
        to: (&Self::DeviceBuffer, usize),
        from: (&Self::DeviceBuffer, usize),
        bytes: usize,
    ) -> Result<()>;

    /// Queues a mark of the time at which all work before it is done.
    ///
    /// # Errors
    /// The driver refuses.
    fn record(&self, event: &Self::Event) -> Result<()>;

    /// Queues a wait for an event of any stream.
    ///
    /// # Errors
    /// The driver refuses.
    fn wait(&self, event: &Self::Event) -> Result<()>;

    /// Queues a wait for the latch, where the backend can; `false` where it cannot and nothing was queued.
    ///
    /// # Errors
    /// The driver refuses.
    fn hold(&self, latch: &Latch) -> Result<bool>;

    /// Captures the copies and collectives that `record` queues in this stream, without doing them; `None` where the backend
    /// has no graphs, and then `record` was not called. The graph keeps what it works on alive.
    ///
    /// Within `record`, events can neither be recorded nor waited for, and nothing else should call the driver.
    ///
    /// # Errors
    /// What `record` returned, a symbol that an old driver lacks, or the driver's words.
    fn capture(&self, record: &mut dyn FnMut() -> Result<()>) -> Result<Option<Self::Graph>>;

    /// Queues all work of a graph of this stream's device. Its buffers are held as those of copies are.
    ///
    /// # Errors
    /// A graph of another device, a buffer that the host is using, or the driver's words.
    fn launch(&self, graph: &Self::Graph) -> Result<()>;

    /// Waits until all queued work is done, and lets go of its buffers.
    ///
    /// # Errors
    /// What the work reported.
    fn synchronize(&self) -> Result<()>;
}

/// A mark in a stream that carries a time.
pub trait Event {
    /// Nanoseconds from `earlier` to this event; both must have been reached.
    ///
    /// # Errors
    /// Not recorded, not reached, or events of different devices.
    fn nanoseconds_since(&self, earlier: &Self) -> Result<f64>;
}

/// A gate that streams of the host backend wait at until the issuing thread has queued everything.
#[derive(Debug, Clone, Default)]
pub struct Latch(Arc<OnceLock<()>>);

impl Latch {
    /// Lets all waiting streams go.
    pub fn open(&self) {
        self.0.get_or_init(|| ());
    }

    /// Waits until it is open.
    pub(crate) fn pass(&self) {
        self.0.wait();
    }
}
