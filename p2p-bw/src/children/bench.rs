//! What a worker keeps between jobs: open devices and buffers of one size, filled and checked from the host.

use std::collections::BTreeMap;
use std::rc::Rc;

use device::pattern::{Difference, Pattern};
use device::{Backend, Device, DeviceError, HostBuffer, HostKind, Result, Stream};

/// An open backend and its stations.
pub(super) struct Bench<B: Backend> {
    pub(super) backend: B,
    stations: BTreeMap<usize, Station<B::Device>>,
    bytes: usize,
}

/// One device with its buffers. It keeps no stream: the host backend's first stream works on the device's own CPU, and
/// that one is for the timed copies.
pub(super) struct Station<D: Device> {
    pub(super) device: D,
    buffers: BTreeMap<usize, Rc<D::DeviceBuffer>>,
    host: BTreeMap<(bool, usize), HostBuffer>,
    scratch: Option<HostBuffer>,
}

/// One end of a copy.
pub(super) enum End<D: Device> {
    Host(HostBuffer),
    /// A device by ordinal, and its memory.
    Device(usize, Rc<D::DeviceBuffer>),
}

impl<D: Device> Clone for End<D> {
    fn clone(&self) -> Self {
        match self {
            Self::Host(buffer) => Self::Host(buffer.clone()),
            Self::Device(ordinal, buffer) => Self::Device(*ordinal, Rc::clone(buffer)),
        }
    }
}

impl<B: Backend> Bench<B> {
    pub(super) fn open() -> Result<Self> {
        Ok(Self {
            backend: B::open()?,
            stations: BTreeMap::new(),
            bytes: 0,
        })
    }

    /// Drops the buffers of another size.
    pub(super) fn set_bytes(&mut self, bytes: usize) {
        if self.bytes != bytes {
            self.bytes = bytes;
            for station in self.stations.values_mut() {
                station.buffers.clear();
                station.host.clear();
                station.scratch = None;
            }
        }
    }

    pub(super) fn station(&mut self, ordinal: usize) -> Result<&mut Station<B::Device>> {
        if !self.stations.contains_key(&ordinal) {
            let device = self.backend.device(ordinal)?;
            let empty = Station {
                device,
                buffers: BTreeMap::new(),
                host: BTreeMap::new(),
                scratch: None,
            };
            self.stations.insert(ordinal, empty);
        }
        let count = self.backend.devices().len();
        self.stations
            .get_mut(&ordinal)
            .ok_or(DeviceError::NoSuchDevice {
                backend: B::NAME,
                ordinal,
                count,
            })
    }

    /// Device memory number `slot` of the size that was set.
    pub(super) fn device_end(&mut self, ordinal: usize, slot: usize) -> Result<End<B::Device>> {
        let bytes = self.bytes;
        let station = self.station(ordinal)?;
        if !station.buffers.contains_key(&slot) {
            station
                .buffers
                .insert(slot, Rc::new(station.device.alloc(bytes)?));
        }
        Ok(End::Device(ordinal, Rc::clone(&station.buffers[&slot])))
    }

    /// Host memory number `slot` of the size that was set, for copies with a device.
    pub(super) fn host_end(
        &mut self,
        ordinal: usize,
        slot: usize,
        kind: HostKind,
        node: Option<u32>,
    ) -> Result<End<B::Device>> {
        let bytes = self.bytes;
        let station = self.station(ordinal)?;
        let key = (kind == HostKind::Pinned, slot);
        if !station.host.contains_key(&key) {
            station
                .host
                .insert(key, station.device.alloc_host(kind, bytes, node)?);
        }
        Ok(End::Host(station.host[&key].clone()))
    }

    /// Writes what `write` makes into an end, and waits until it is there.
    pub(super) fn write(
        &mut self,
        end: &End<B::Device>,
        write: impl FnOnce(&mut [u8]),
    ) -> Result<()> {
        let bytes = self.bytes;
        match end {
            End::Host(buffer) => buffer.with_bytes(write),
            End::Device(ordinal, buffer) => {
                let station = self.station(*ordinal)?;
                let scratch = station.scratch(bytes)?;
                scratch.with_bytes(write)?;
                let stream = station.device.stream()?;
                stream.host_to_device((buffer, 0), (&scratch, 0), bytes)?;
                stream.synchronize()
            }
        }
    }

    /// Compares an end with a pattern; device memory is read back by the device that owns it.
    pub(super) fn check(
        &mut self,
        end: &End<B::Device>,
        pattern: Pattern,
    ) -> Result<Option<Difference>> {
        let bytes = self.bytes;
        match end {
            End::Host(buffer) => buffer.with_bytes(|bytes| pattern.first_difference(bytes)),
            End::Device(ordinal, buffer) => {
                let station = self.station(*ordinal)?;
                let scratch = station.scratch(bytes)?;
                // What the read-back does not deliver must not look right by what lay there before.
                scratch.with_bytes(|bytes| bytes.fill(0))?;
                let stream = station.device.stream()?;
                stream.device_to_host((&scratch, 0), (buffer, 0), bytes)?;
                stream.synchronize()?;
                scratch.with_bytes(|bytes| pattern.first_difference(bytes))
            }
        }
    }

    /// Lets a device reach another's memory. This way only: the other may be denied, or hang.
    pub(super) fn enable_peer(&mut self, accessor: usize, peer: usize) -> Result<()> {
        let peer = self.station(peer)?.device.clone();
        self.station(accessor)?.device.enable_peer(&peer)
    }

    /// Takes access between two devices back, both ways.
    pub(super) fn disable_peer(&mut self, a: usize, b: usize) -> Result<()> {
        for (accessor, peer) in [(a, b), (b, a)] {
            let peer = self.station(peer)?.device.clone();
            self.station(accessor)?.device.disable_peer(&peer)?;
        }
        Ok(())
    }
}

impl<D: Device> Station<D> {
    fn scratch(&mut self, bytes: usize) -> Result<HostBuffer> {
        if let Some(scratch) = &self.scratch {
            return Ok(scratch.clone());
        }
        let scratch = self.device.alloc_host(HostKind::Pageable, bytes, None)?;
        self.scratch = Some(scratch.clone());
        Ok(scratch)
    }
}
