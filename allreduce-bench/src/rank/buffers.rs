//! Where the calls of a job read and write.

mod layout;

use device::collectives::Collectives;
use device::{Device, HostBuffer, HostKind, Result, Stream};
use record::CollectiveKind;

use super::kinds::{BufferOf, DeviceOf, StreamOf};
use super::sums::Sums;
use crate::messages::Job;
use layout::Layout;

/// Memory and a byte in it.
pub(super) type Spot<'a, C> = (&'a BufferOf<C>, usize);

/// The memory of a job's calls on one rank.
pub(super) struct Buffers<C: Collectives> {
    layout: Layout,
    kind: CollectiveKind,
    rank: u32,
    /// What is written lies here, and in place what is read too.
    to: BufferOf<C>,
    /// `None` in place.
    from: Option<BufferOf<C>>,
    /// One place as the host writes and reads it.
    image: HostBuffer,
}

impl<C: Collectives> Buffers<C> {
    /// Allocates; `pool` as [`pool_bytes`] says.
    ///
    /// # Errors
    /// What allocating says.
    pub(super) fn of(device: &DeviceOf<C>, job: &Job, (ranks, rank): (u32, u32)) -> Result<Self> {
        let layout = Layout::of(job, ranks, rank);
        let from = match layout.in_place {
            true => None,
            false => Some(device.alloc(layout.lengths.read)?),
        };
        let image = layout.lengths.read.max(layout.lengths.written);
        Ok(Self {
            kind: job.kind,
            rank,
            to: device.alloc(layout.memory())?,
            from,
            image: device.alloc_host(HostKind::Pageable, image, None)?,
            layout,
        })
    }

    /// Where a call writes, and where it reads.
    pub(super) fn spots(&self) -> (Spot<'_, C>, Spot<'_, C>) {
        let Layout { offsets, .. } = self.layout;
        let from = self.from.as_ref().unwrap_or(&self.to);
        ((&self.to, offsets.written), (from, offsets.read))
    }

    /// Whether a call leaves another input for the next one at its place than it found.
    pub(super) fn lose_input(&self) -> bool {
        use CollectiveKind::{AllReduce, ReduceScatter};
        self.layout.in_place && matches!(self.kind, AllReduce | ReduceScatter)
    }

    /// Writes what the rank contributes, and what no result is to where results go.
    pub(super) fn lay(&self, stream: &StreamOf<C>, sums: &Sums) -> Result<()> {
        let read = self.layout.lengths.read;
        if let Some(from) = &self.from {
            self.image
                .with_bytes(|image| sums.fill(&mut image[..read], self.rank))?;
            stream.host_to_device((from, 0), (&self.image, 0), read)?;
            stream.synchronize()?;
        }
        self.undo(stream, sums)
    }

    /// Takes back what calls did to memory that [`Buffers::lay`] wrote: so a later comparison sees a later call's result.
    pub(super) fn undo(&self, stream: &StreamOf<C>, sums: &Sums) -> Result<()> {
        let Layout {
            in_place,
            lengths,
            offsets,
        } = self.layout;
        self.image.with_bytes(|image| {
            Sums::spoil(image);
            if in_place {
                sums.fill(&mut image[offsets.read..][..lengths.read], self.rank);
            }
        })?;
        stream.host_to_device((&self.to, 0), (&self.image, 0), self.layout.memory())?;
        stream.synchronize()
    }

    /// The first element of the last call's result that is not the exact one, in words.
    pub(super) fn first_difference(
        &self,
        stream: &StreamOf<C>,
        sums: &Sums,
    ) -> Result<Option<String>> {
        let Layout {
            lengths, offsets, ..
        } = self.layout;
        // What the read-back does not deliver must not look right by what lay there before.
        self.image.with_bytes(Sums::spoil)?;
        let spot = (&self.to, offsets.written);
        stream.device_to_host((&self.image, 0), spot, lengths.written)?;
        stream.synchronize()?;
        self.image
            .with_bytes(|image| sums.first_difference(&image[..lengths.written], self.rank))
    }
}
