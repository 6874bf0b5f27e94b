//! A device with a stream, and the ways in which facts put bytes on it and look at them.
#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use device::pattern::Pattern;
use device::{
    Backend, Device, DeviceBuffer, DeviceError, HostBuffer, HostKind, Latch, Stream, TimeSource,
};

/// One copy that takes long enough to be seen under way.
pub(crate) const LARGE: usize = 8 << 20;

/// An opened device with a stream.
pub(crate) struct Bed<D: Device> {
    pub(crate) device: D,
    pub(crate) stream: D::Stream,
    /// Whether work under way is sure to be seen: always but on a real device, which may be faster than the test.
    pub(crate) is_slow: bool,
}

impl<D: Device> Bed<D> {
    /// Opens a device.
    pub(crate) fn open<B: Backend<Device = D>>(backend: &B, ordinal: usize) -> Self {
        let device = backend.device(ordinal).unwrap();
        Self {
            stream: device.stream().unwrap(),
            device,
            is_slow: backend.time_source() != TimeSource::DeviceEvent,
        }
    }

    /// Host memory from which copies do not block: pinned, or ordinary where the host backend may not lock as much.
    pub(crate) fn host(&self, bytes: usize) -> HostBuffer {
        match self.device.alloc_host(HostKind::Pinned, bytes, None) {
            Err(DeviceError::HostMemory(numa::NumaError::Lock { .. })) => self
                .device
                .alloc_host(HostKind::Pageable, bytes, None)
                .unwrap(),
            answer => answer.unwrap(),
        }
    }

    /// Host memory that holds a pattern.
    pub(crate) fn host_filled(&self, pattern: Pattern, bytes: usize) -> HostBuffer {
        let host = self.host(bytes);
        host.with_bytes(|bytes| pattern.fill(bytes)).unwrap();
        host
    }

    /// Device memory that holds a pattern.
    pub(crate) fn filled(&self, pattern: Pattern, bytes: usize) -> D::DeviceBuffer {
        self.sent(&self.host_filled(pattern, bytes))
    }

    /// Device memory that no byte of the pattern is in.
    pub(crate) fn poisoned(&self, pattern: Pattern, bytes: usize) -> D::DeviceBuffer {
        let host = self.host(bytes);
        host.with_bytes(|bytes| pattern.poison().fill(bytes))
            .unwrap();
        self.sent(&host)
    }

    fn sent(&self, host: &HostBuffer) -> D::DeviceBuffer {
        let memory = self.device.alloc(host.len()).unwrap();
        assert_eq!(memory.len(), host.len());
        self.stream
            .host_to_device((&memory, 0), (host, 0), host.len())
            .unwrap();
        self.stream.synchronize().unwrap();
        memory
    }

    /// The bytes of device memory.
    pub(crate) fn read(&self, memory: &D::DeviceBuffer) -> Vec<u8> {
        let host = self.host(memory.len());
        self.stream
            .device_to_host((&host, 0), (memory, 0), memory.len())
            .unwrap();
        self.stream.synchronize().unwrap();
        host.with_bytes(|bytes| bytes.to_vec()).unwrap()
    }

    /// Shows that the device still works.
    #[track_caller]
    pub(crate) fn works(&self) {
        let pattern = Pattern::of(7, 7, 4099);
        let bytes = self.read(&self.filled(pattern, 4099));
        assert_eq!(pattern.first_difference(&bytes), None);
    }

    /// Stops the stream until the latch is opened, where the backend can. What a test asserts it asserts after opening.
    pub(crate) fn hold(&self) -> Latch {
        let latch = Latch::default();
        self.stream.hold(&latch).unwrap();
        latch
    }
}

/// The host's reading of a buffer, as an answer only.
pub(crate) fn touch(host: &HostBuffer) -> device::Result<()> {
    host.with_bytes(|_| ())
}
