//! Where the calls of a job read and write: out of place, as engines call.

use device::collectives::{Collectives, Operation};
use device::{Device, DeviceBuffer, HostBuffer, HostKind, Result, Stream};

use super::kinds::{BufferOf, DeviceOf, StreamOf};
use super::sums::Sums;

/// The memory of a job's calls on one rank.
pub(super) struct Buffers<C: Collectives> {
    rank: u32,
    pub(super) to: BufferOf<C>,
    pub(super) from: BufferOf<C>,
    /// Either as the host writes and reads it.
    image: HostBuffer,
}

impl<C: Collectives> Buffers<C> {
    /// Allocates for parts of so many bytes.
    ///
    /// # Errors
    /// What allocating says.
    pub(super) fn of(
        device: &DeviceOf<C>,
        (operation, part): (Operation, usize),
        (ranks, rank): (u32, u32),
    ) -> Result<Self> {
        let (read, written) = operation.parts(ranks);
        let (read, written) = (part.saturating_mul(read), part.saturating_mul(written));
        Ok(Self {
            rank,
            to: device.alloc(written)?,
            from: device.alloc(read)?,
            image: device.alloc_host(HostKind::Pageable, read.max(written), None)?,
        })
    }

    /// Writes what the rank contributes, and what no result is to where results go.
    pub(super) fn lay(&self, stream: &StreamOf<C>, sums: &Sums) -> Result<()> {
        let read = self.from.len();
        self.image
            .with_bytes(|image| sums.fill(&mut image[..read], self.rank))?;
        stream.host_to_device((&self.from, 0), (&self.image, 0), read)?;
        stream.synchronize()?;
        self.spoil(stream)
    }

    /// Writes what no result is to where results go: a later comparison sees a later call's result.
    pub(super) fn spoil(&self, stream: &StreamOf<C>) -> Result<()> {
        self.image.with_bytes(Sums::spoil)?;
        stream.host_to_device((&self.to, 0), (&self.image, 0), self.to.len())?;
        stream.synchronize()
    }

    /// The first element of the last call's result that is not the exact one, in words.
    pub(super) fn first_difference(
        &self,
        stream: &StreamOf<C>,
        sums: &Sums,
    ) -> Result<Option<String>> {
        // What the read-back does not deliver must not look right by what lay there before.
        self.image.with_bytes(Sums::spoil)?;
        let written = self.to.len();
        stream.device_to_host((&self.image, 0), (&self.to, 0), written)?;
        stream.synchronize()?;
        self.image
            .with_bytes(|image| sums.first_difference(&image[..written], self.rank))
    }
}
