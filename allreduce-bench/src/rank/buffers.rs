//! Where the calls of a job read and write: one place that all calls use, or a pool of places that they go through in turn.
//!
//! Every place holds the same input, so that whichever call was the last can be compared where it lies. Nothing here is timed.

mod layout;

use std::cell::Cell;

use device::collectives::Collectives;
use device::{Device, DeviceError, HostBuffer, HostKind, Result, Stream};
use measure::record::{BufferCache, BufferPlacement, CollectiveKind};

use super::bench::{BufferOf, DeviceOf, StreamOf};
use super::sums::Sums;
use crate::messages::Job;
use layout::Layout;

/// Bytes of a pool where the driver names no cache.
const POOL: u64 = 256 << 20;

/// Bytes of a pool at least where it names one: AMD's runtime names the L2 and not the Infinity Cache of 256 MiB behind it.
const LEAST_POOL: u64 = 512 << 20;

/// Bytes of a pool on a virtual clock, which knows no cache, while every byte is real memory of this machine.
const VIRTUAL_POOL: u64 = 4 << 20;

/// Bytes that no cache of the device holds, of which the driver names this one.
pub(super) fn pool_bytes(cache_bytes: Option<u64>, is_virtual: bool) -> u64 {
    match cache_bytes {
        _ if is_virtual => VIRTUAL_POOL,
        Some(cache) => cache.saturating_mul(2).max(LEAST_POOL),
        None => POOL,
    }
}

/// The pool, or half of the memory that is free where that is less and no cache holds it either: half the pool is still more than
/// the cache. Free and total memory are unknown where a backend does not say.
fn within_free(pool: u64, memory: Option<(u64, u64)>) -> Result<u64> {
    let capped = memory.map_or(pool, |(free, _)| pool.min(free / 2));
    if capped < pool / 2 {
        return Err(DeviceError::OutOfMemory {
            bytes: usize::try_from(pool / 2).unwrap_or(usize::MAX),
            what: "device memory for a pool that no cache holds (--cache rotate)".to_owned(),
        });
    }
    Ok(capped)
}

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
    next: Cell<usize>,
    last: Cell<usize>,
}

impl<C: Collectives> Buffers<C> {
    /// Allocates; `pool` as [`pool_bytes`] says.
    ///
    /// # Errors
    /// `Unsupported` for a send and receive in place, `OutOfMemory` where a pool that no cache holds would leave nothing to others,
    /// and what allocating says.
    pub(super) fn of(
        device: &DeviceOf<C>,
        job: &Job,
        (ranks, rank): (u32, u32),
        pool: u64,
    ) -> Result<Self> {
        if (job.kind, job.placement) == (CollectiveKind::SendRecv, BufferPlacement::InPlace) {
            return Err(DeviceError::Unsupported {
                what: "send/recv in place",
                why: "what is received would overwrite what is being sent".to_owned(),
            });
        }
        let pool = match job.cache {
            BufferCache::Hot => 0,
            BufferCache::Rotate => within_free(pool, device.memory().ok())?,
        };
        let layout = Layout::of(job, ranks, rank, pool);
        let all = |stride: usize| stride.saturating_mul(layout.places);
        let from = if layout.in_place {
            None
        } else {
            Some(device.alloc(all(layout.strides.read))?)
        };
        let image = layout.lengths.read.max(layout.lengths.written);
        Ok(Self {
            kind: job.kind,
            rank,
            to: device.alloc(all(layout.strides.written))?,
            from,
            image: device.alloc_host(HostKind::Pageable, image, None)?,
            next: Cell::new(0),
            last: Cell::new(0),
            layout,
        })
    }

    /// Where the next call writes and reads.
    pub(super) fn turn(&self) -> (Spot<'_, C>, Spot<'_, C>) {
        let Layout {
            strides, offsets, ..
        } = self.layout;
        let place = self.next.get();
        self.last.set(place);
        self.next.set((place + 1) % self.layout.places);
        (
            (&self.to, place * strides.written + offsets.written),
            (self.from(), place * strides.read + offsets.read),
        )
    }

    /// Begins with the first place again.
    pub(super) fn rewind(&self) {
        self.next.set(0);
    }

    /// The place of the last call.
    pub(super) fn last(&self) -> usize {
        self.last.get()
    }

    /// The last call used this place: it was one of a graph.
    pub(super) fn set_last(&self, place: usize) {
        self.last.set(place);
    }

    /// Whether a call leaves another input for the next one at its place than it found.
    pub(super) fn lose_input(&self) -> bool {
        use CollectiveKind::{AllReduce, ReduceScatter};
        self.layout.in_place && matches!(self.kind, AllReduce | ReduceScatter)
    }

    /// Writes what the rank contributes to every place, and what no result is to where results go.
    pub(super) fn lay(&self, stream: &StreamOf<C>, sums: &Sums) -> Result<()> {
        let Layout {
            lengths, strides, ..
        } = self.layout;
        if let Some(from) = &self.from {
            self.image
                .with_bytes(|image| sums.fill(&mut image[..lengths.read], self.rank))?;
            self.spread(stream, from, strides.read, lengths.read)?;
        }
        self.undo(stream, sums)
    }

    /// Takes back what calls did to memory that [`Buffers::lay`] wrote: so a later comparison sees a later call's result.
    pub(super) fn undo(&self, stream: &StreamOf<C>, sums: &Sums) -> Result<()> {
        let Layout {
            in_place,
            lengths,
            offsets,
            strides,
            ..
        } = self.layout;
        // Of a broadcast the first rank alone has an input, and the others' place for it is that of the result.
        let reads = in_place && (self.kind != CollectiveKind::Broadcast || self.rank == 0);
        self.image.with_bytes(|image| {
            Sums::spoil(image);
            if reads {
                sums.fill(&mut image[offsets.read..][..lengths.read], self.rank);
            }
        })?;
        let bytes = if in_place {
            lengths.read.max(lengths.written)
        } else {
            lengths.written
        };
        self.spread(stream, &self.to, strides.written, bytes)
    }

    /// Writes the first bytes of the image to every place of one memory.
    fn spread(
        &self,
        stream: &StreamOf<C>,
        memory: &BufferOf<C>,
        stride: usize,
        bytes: usize,
    ) -> Result<()> {
        stream.host_to_device((memory, 0), (&self.image, 0), bytes)?;
        let mut done = 1;
        while done < self.layout.places {
            let more = done.min(self.layout.places - done);
            stream.device_to_device((memory, done * stride), (memory, 0), more * stride)?;
            done += more;
        }
        stream.synchronize()
    }

    /// Queues a pass over the whole pool, one half of each memory onto the other, so that a graph which uses the same places
    /// again does not find them in the cache. Nothing for calls that do not rotate.
    pub(super) fn sweep(&self, stream: &StreamOf<C>) -> Result<()> {
        let Layout {
            strides, places, ..
        } = self.layout;
        let (half, rest) = (places / 2, places.div_ceil(2));
        if half == 0 {
            return Ok(());
        }
        // The places that a graph uses again first are read first, and so are the first to leave the cache.
        let memories = [
            Some((&self.to, strides.written)),
            self.from.as_ref().map(|from| (from, strides.read)),
        ];
        for (memory, stride) in memories.into_iter().flatten() {
            stream.device_to_device((memory, rest * stride), (memory, 0), half * stride)?;
        }
        Ok(())
    }

    /// The first element of the last call's result that is not the exact one, in words.
    pub(super) fn first_difference(
        &self,
        stream: &StreamOf<C>,
        sums: &Sums,
    ) -> Result<Option<String>> {
        let Layout {
            lengths,
            offsets,
            strides,
            ..
        } = self.layout;
        // What the read-back does not deliver must not look right by what lay there before.
        self.image.with_bytes(Sums::spoil)?;
        let at = self.last.get() * strides.written + offsets.written;
        stream.device_to_host((&self.image, 0), (&self.to, at), lengths.written)?;
        stream.synchronize()?;
        self.image
            .with_bytes(|image| sums.first_difference(&image[..lengths.written], self.rank))
    }

    fn from(&self) -> &BufferOf<C> {
        self.from.as_ref().unwrap_or(&self.to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pool_is_twice_the_cache_and_no_less_than_what_drivers_do_not_name() {
        // 50 MiB of an H100: 100 MiB, less than the least; 512 MiB twice are 1 GiB.
        assert_eq!(pool_bytes(Some(50 << 20), false), 512 << 20);
        assert_eq!(pool_bytes(Some(512 << 20), false), 1 << 30);
        assert_eq!(pool_bytes(None, false), 256 << 20);
        assert_eq!(pool_bytes(Some(50 << 20), true), 4 << 20);
    }

    #[test]
    fn a_pool_leaves_half_of_the_free_memory_and_is_still_more_than_the_cache() {
        // Twice a cache of 300 is 600: 2000 free leave it as it is, of 1000 it takes 500, of 598 it would be 299.
        let of = |free| within_free(600, Some((free, 4000)));
        assert_eq!((of(2000).unwrap(), of(1000).unwrap()), (600, 500));
        let refused = of(598).unwrap_err().to_string();
        assert!(refused.contains("300 bytes"), "{refused}");
        assert_eq!(within_free(600, None).unwrap(), 600);
    }
}
