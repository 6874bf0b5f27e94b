//! Memory that is written and compared without a kernel: the host sends one piece, the device copies it from piece to piece, and the
//! host compares the last. A bit that any piece loses is lost in all behind it.

use device::{Device, Event, HostBuffer, HostKind, Result, Stream};

use super::by_kernels::{differences, pattern};
use super::pieces::{Pass, Pieces};

pub(super) struct ByCopies<D: Device> {
    stream: D::Stream,
    marks: [D::Event; 2],
    pieces: Pieces<D>,
    host: HostBuffer,
    ordinal: usize,
}

impl<D: Device> ByCopies<D> {
    pub(super) fn new(device: &D, pieces: Pieces<D>, ordinal: usize) -> Result<Self> {
        Ok(Self {
            stream: device.stream()?,
            marks: [device.event()?, device.event()?],
            host: device.alloc_host(HostKind::Pinned, pieces.bytes, None)?,
            pieces,
            ordinal,
        })
    }

    /// Sends a piece through all of the memory, and compares what arrives behind the last.
    pub(super) fn pass(&mut self, pass: u64) -> Result<Pass> {
        let Self { stream, pieces, .. } = self;
        let bytes = pieces.bytes;
        let pattern = pattern(self.ordinal, pass, 0, bytes);
        self.host.with_bytes(|bytes| pattern.fill(bytes))?;
        stream.record(&self.marks[0])?;
        stream.host_to_device((&pieces.all[0], 0), (&self.host, 0), bytes)?;
        for pair in pieces.all.windows(2) {
            stream.device_to_device((&pair[1], 0), (&pair[0], 0), bytes)?;
        }
        stream.record(&self.marks[1])?;
        stream.synchronize()?;
        // What does not come back must not look right by what lay there before.
        self.host.with_bytes(|bytes| bytes.fill(0))?;
        let last = &pieces.all[pieces.all.len() - 1];
        stream.device_to_host((&self.host, 0), (last, 0), bytes)?;
        stream.synchronize()?;
        let differs = |found: &mut [u8]| {
            let is_wrong = pattern.first_difference(found).is_some();
            is_wrong.then(|| differences(found, pattern))
        };
        Ok(Pass {
            written_ns: self.marks[1].nanoseconds_since(&self.marks[0])?,
            checked_ns: None,
            wrong: self.host.with_bytes(differs)?,
        })
    }
}
