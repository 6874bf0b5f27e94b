//! Memory of a device that a load writes and compares, in pieces.
//!
//! Kernels do it word by word: all pieces are written before the first is compared, so that nothing is answered by a cache. Where
//! there are none the host sends one piece, the device copies it from piece to piece, and the host compares the last: a bit that
//! any piece loses is lost in all behind it.

use std::rc::Rc;

use device::pattern::Pattern;
use device::{Device, DeviceError, Event, HostBuffer, HostKind, Result, Stream};
use kernels::{Kernels, Place};

use crate::children::tell::{Tell, doing};
use crate::messages::LoadRequest;

/// Bytes of a kernel's answer: the index of the first wrong word of a piece.
const ANSWER: usize = 8;

/// What one pass took in nanoseconds, and what was wrong.
pub(super) struct Pass {
    pub(super) written_ns: f64,
    /// `None` where the host compared what had gone through all of the memory.
    pub(super) checked_ns: Option<f64>,
    pub(super) wrong: Option<String>,
}

pub(super) struct Memory<D: Device> {
    device: D,
    stream: D::Stream,
    marks: [D::Event; 3],
    ordinal: usize,
    pub(super) pieces: Vec<D::DeviceBuffer>,
    /// Bytes of a piece.
    pub(super) bytes: usize,
    /// The kernels and the memory for their answers, where there are some.
    kernels: Option<(Rc<Kernels<D>>, D::DeviceBuffer)>,
    /// The answers, or a piece.
    host: HostBuffer,
}

impl<D: Device> Memory<D> {
    /// Allocates as many pieces as were wanted or there is room for.
    pub(super) fn allocate(
        device: &D,
        request: &LoadRequest,
        kernels: Option<Rc<Kernels<D>>>,
        tell: Tell<'_>,
    ) -> Result<Self> {
        let wanted = match request.bytes {
            Some(bytes) => bytes,
            None => device.memory()?.0 / 2,
        };
        let bytes = usize::try_from(request.piece_bytes).unwrap_or(usize::MAX);
        let count = wanted / bytes.max(1) as u64;
        let mut pieces = Vec::new();
        for number in 0..count.max(1) {
            doing(tell, &format!("allocating piece {number} of {count}"));
            match device.alloc(bytes) {
                Ok(piece) => pieces.push(piece),
                // Somebody else took what was free; what there is is loaded.
                Err(DeviceError::OutOfMemory { .. }) if !pieces.is_empty() => break,
                Err(error) => return Err(error),
            }
        }
        let answers = pieces.len() * ANSWER;
        let kernels = match kernels {
            Some(kernels) => Some((kernels, device.alloc(answers)?)),
            None => None,
        };
        let of_host = if kernels.is_some() { answers } else { bytes };
        Ok(Self {
            stream: device.stream()?,
            marks: [device.event()?, device.event()?, device.event()?],
            ordinal: request.ordinal,
            host: device.alloc_host(HostKind::Pinned, of_host, None)?,
            device: device.clone(),
            pieces,
            bytes,
            kernels,
        })
    }

    /// Writes all of the memory, with words of its own in each pass, and compares it.
    pub(super) fn pass(&self, pass: u64) -> Result<Pass> {
        match &self.kernels {
            Some((kernels, answers)) => self.by_kernels(kernels, answers, pass),
            None => self.by_copies(pass),
        }
    }

    fn by_kernels(
        &self,
        kernels: &Kernels<D>,
        answers: &D::DeviceBuffer,
        pass: u64,
    ) -> Result<Pass> {
        let (stream, bytes) = (&self.stream, self.bytes);
        let pattern = |number: usize| pattern(self.ordinal, pass, number, bytes);
        self.host.with_bytes(|bytes| bytes.fill(0xff))?;
        let length = self.host.len();
        stream.host_to_device((answers, 0), (&self.host, 0), length)?;
        stream.record(&self.marks[0])?;
        for (number, piece) in self.pieces.iter().enumerate() {
            let to = Place::Device(piece, 0);
            kernels.fill(stream, to, bytes, pattern(number), false)?;
        }
        stream.record(&self.marks[1])?;
        for (number, piece) in self.pieces.iter().enumerate() {
            let (data, told) = (
                Place::Device(piece, 0),
                Place::Device(answers, number * ANSWER),
            );
            kernels.check(stream, data, bytes, pattern(number), told)?;
        }
        stream.record(&self.marks[2])?;
        stream.device_to_host((&self.host, 0), (answers, 0), length)?;
        stream.synchronize()?;
        let first_wrong = |bytes: &mut [u8]| {
            let mut answers = bytes.chunks_exact(ANSWER);
            answers.position(|answer| answer != [0xff; ANSWER])
        };
        let wrong = match self.host.with_bytes(first_wrong)? {
            Some(number) => Some(self.second_look(number, pattern(number))?),
            None => None,
        };
        Ok(Pass {
            written_ns: self.marks[1].nanoseconds_since(&self.marks[0])?,
            checked_ns: Some(self.marks[2].nanoseconds_since(&self.marks[1])?),
            wrong,
        })
    }

    /// What the host finds wrong in a piece that a kernel found wrong.
    fn second_look(&self, number: usize, pattern: Pattern) -> Result<String> {
        let host = self
            .device
            .alloc_host(HostKind::Pageable, self.bytes, None)?;
        let piece = &self.pieces[number];
        self.stream
            .device_to_host((&host, 0), (piece, 0), self.bytes)?;
        self.stream.synchronize()?;
        let found = host.with_bytes(|found| pattern.first_difference(found))?;
        Ok(match found {
            Some(first) => format!("piece {number}: {first}"),
            None => format!("piece {number}: the device found a word wrong, the host does not"),
        })
    }

    fn by_copies(&self, pass: u64) -> Result<Pass> {
        let (stream, bytes) = (&self.stream, self.bytes);
        let pattern = pattern(self.ordinal, pass, 0, bytes);
        self.host.with_bytes(|bytes| pattern.fill(bytes))?;
        stream.record(&self.marks[0])?;
        stream.host_to_device((&self.pieces[0], 0), (&self.host, 0), bytes)?;
        for pair in self.pieces.windows(2) {
            stream.device_to_device((&pair[1], 0), (&pair[0], 0), bytes)?;
        }
        stream.record(&self.marks[1])?;
        stream.synchronize()?;
        // What does not come back must not look right by what lay there before.
        self.host.with_bytes(|bytes| bytes.fill(0))?;
        let last = &self.pieces[self.pieces.len() - 1];
        stream.device_to_host((&self.host, 0), (last, 0), bytes)?;
        stream.synchronize()?;
        let found = self
            .host
            .with_bytes(|found| pattern.first_difference(found))?;
        Ok(Pass {
            written_ns: self.marks[1].nanoseconds_since(&self.marks[0])?,
            checked_ns: None,
            wrong: found.map(|first| first.to_string()),
        })
    }
}

/// The words of a piece in a pass: no piece has another one's, and none what it had before.
fn pattern(ordinal: usize, pass: u64, number: usize, bytes: usize) -> Pattern {
    Pattern::of(ordinal as u64, (pass << 20) | number as u64, bytes as u64)
}
