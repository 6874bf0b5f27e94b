//! What a worker keeps between jobs: open devices and buffers of one size, filled and checked from the host.

use std::collections::BTreeMap;
use std::rc::Rc;

use device::pattern::{Difference, Pattern};
use device::{Backend, Device, DeviceError, HostBuffer, HostKind, Result, Stream};
use kernels::Kernels;

/// Takes what begins now; each call restarts the parent's deadline.
pub(super) type Say<'a> = &'a mut dyn FnMut(&str);

/// An open backend and its stations.
pub(super) struct Bench<B: Backend> {
    pub(super) backend: B,
    stations: BTreeMap<usize, Station<B::Device>>,
    bytes: usize,
    /// What device memory is filled from and compared in.
    scratch: Option<HostBuffer>,
}

/// One device with its buffers. It keeps no stream: the host backend's first stream works on the device's own CPU, and
/// that one is for the timed copies.
pub(super) struct Station<D: Device> {
    pub(super) device: D,
    buffers: BTreeMap<usize, Rc<D::DeviceBuffer>>,
    host: BTreeMap<usize, HostBuffer>,
    /// Its kernels, once asked for, or why there are none.
    kernels: Option<std::result::Result<Rc<Kernels<D>>, String>>,
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
            scratch: None,
        })
    }

    /// Begins a job with copies of a size: drops all buffers, and keeps what data is compared in where it has the size.
    pub(super) fn begin(&mut self, bytes: usize) {
        for station in self.stations.values_mut() {
            station.buffers.clear();
            station.host.clear();
        }
        if self.bytes != bytes {
            self.scratch = None;
        }
        self.bytes = bytes;
    }

    pub(super) fn station(&mut self, ordinal: usize) -> Result<&mut Station<B::Device>> {
        if !self.stations.contains_key(&ordinal) {
            let device = self.backend.device(ordinal)?;
            let empty = Station {
                device,
                buffers: BTreeMap::new(),
                host: BTreeMap::new(),
                kernels: None,
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
    pub(super) fn device_end(
        &mut self,
        ordinal: usize,
        slot: usize,
        say: Say<'_>,
    ) -> Result<End<B::Device>> {
        let bytes = self.bytes;
        let station = self.station(ordinal)?;
        if !station.buffers.contains_key(&slot) {
            say("allocating device memory");
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
        say: Say<'_>,
    ) -> Result<End<B::Device>> {
        let bytes = self.bytes;
        let station = self.station(ordinal)?;
        if !station.host.contains_key(&slot) {
            say("allocating host memory");
            let buffer = station.device.alloc_host(kind, bytes, node)?;
            station.host.insert(slot, buffer);
        }
        Ok(End::Host(station.host[&slot].clone()))
    }

    /// Writes what `write` makes into an end, and waits until it is there.
    pub(super) fn write(
        &mut self,
        end: &End<B::Device>,
        say: Say<'_>,
        write: impl FnOnce(&mut [u8]),
    ) -> Result<()> {
        let bytes = self.bytes;
        match end {
            End::Host(buffer) => {
                say("writing the pattern");
                buffer.with_bytes(write)
            }
            End::Device(ordinal, buffer) => {
                let scratch = self.scratch(*ordinal, say)?;
                let station = self.station(*ordinal)?;
                say("writing the pattern");
                scratch.with_bytes(write)?;
                say("copying the pattern to the device");
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
        say: Say<'_>,
    ) -> Result<Option<Difference>> {
        let bytes = self.bytes;
        match end {
            End::Host(buffer) => {
                say("comparing the data");
                buffer.with_bytes(|bytes| pattern.first_difference(bytes))
            }
            End::Device(ordinal, buffer) => {
                let scratch = self.scratch(*ordinal, say)?;
                let station = self.station(*ordinal)?;
                say("clearing what the data is read back to");
                // What the read-back does not deliver must not look right by what lay there before.
                scratch.with_bytes(|bytes| bytes.fill(0))?;
                say("reading the data back");
                let stream = station.device.stream()?;
                stream.device_to_host((&scratch, 0), (buffer, 0), bytes)?;
                stream.synchronize()?;
                say("comparing the data");
                scratch.with_bytes(|bytes| pattern.first_difference(bytes))
            }
        }
    }

    /// The kernels of a device, loaded when they are first asked for.
    ///
    /// # Errors
    /// `Unsupported`, with the reason, where it has none; what loading reported.
    pub(super) fn kernels(
        &mut self,
        ordinal: usize,
        say: Say<'_>,
    ) -> Result<Rc<Kernels<B::Device>>> {
        let station = self.station(ordinal)?;
        if station.kernels.is_none() {
            say("loading the kernels");
            station.kernels = Some(match Kernels::load(&station.device) {
                Ok(kernels) => Ok(Rc::new(kernels)),
                Err(DeviceError::Unsupported { why, .. }) => Err(why),
                // Not kept: it may be gone the next time, and a lost device must be seen as such.
                Err(error) => return Err(error),
            });
        }
        match &station.kernels {
            Some(Ok(kernels)) => Ok(Rc::clone(kernels)),
            other => Err(DeviceError::Unsupported {
                what: "a kernel",
                why: other
                    .as_ref()
                    .and_then(|kernels| kernels.as_ref().err().cloned())
                    .unwrap_or_default(),
            }),
        }
    }

    /// Host memory to fill and compare in; one for all devices, which any of them can copy from and to.
    fn scratch(&mut self, ordinal: usize, say: Say<'_>) -> Result<HostBuffer> {
        if let Some(scratch) = &self.scratch {
            return Ok(scratch.clone());
        }
        say("allocating host memory to compare in");
        let bytes = self.bytes;
        let device = &self.station(ordinal)?.device;
        let scratch = device.alloc_host(HostKind::Pageable, bytes, None)?;
        self.scratch = Some(scratch.clone());
        Ok(scratch)
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

#[cfg(test)]
mod tests {
    use super::*;
    use device::host::Host;

    /// How many buffers each station has.
    fn held(bench: &Bench<Host>) -> Vec<(usize, usize)> {
        let held = |(ordinal, station): (&usize, &Station<_>)| {
            (*ordinal, station.buffers.len() + station.host.len())
        };
        bench.stations.iter().map(held).collect()
    }

    #[test]
    fn a_job_holds_its_buffers_and_each_long_step_is_told() {
        let mut bench = Bench::<Host>::open().unwrap();
        let mut told = Vec::new();
        let mut say = |doing: &str| told.push(doing.to_owned());
        bench.begin(4096);
        let pattern = Pattern::of(1, 2, 4096);
        let end = bench.device_end(0, 0, &mut say).unwrap();
        bench
            .host_end(1, 0, HostKind::Pageable, None, &mut say)
            .unwrap();
        bench
            .write(&end, &mut say, |bytes| pattern.fill(bytes))
            .unwrap();
        assert_eq!(bench.check(&end, pattern, &mut say).unwrap(), None);
        assert_eq!(
            told,
            [
                "allocating device memory",
                "allocating host memory",
                "allocating host memory to compare in",
                "writing the pattern",
                "copying the pattern to the device",
                "clearing what the data is read back to",
                "reading the data back",
                "comparing the data",
            ]
        );
        // One of device memory at 0, one of host memory at 1, and one for both to compare in.
        assert_eq!(held(&bench), [(0, 1), (1, 1)]);
        assert!(bench.scratch.is_some());
        bench.begin(4096);
        assert_eq!(held(&bench), [(0, 0), (1, 0)]);
        assert!(bench.scratch.is_some());
        bench.begin(8192);
        assert!(bench.scratch.is_none());
    }
}
