//! Where the calls of a job read and write: one place that all calls use, or a pool of places that they go through in turn.
//!
//! Every place holds the same input, so that whichever call was the last can be compared where it lies. Nothing here is timed.

use std::cell::Cell;

use device::collectives::Collectives;
use device::{Device, DeviceError, HostBuffer, HostKind, Result, Stream};
use measure::record::{BufferCache, BufferPlacement, CollectiveKind};

use super::bench::{BufferOf, DeviceOf, StreamOf};
use super::sums::Sums;
use crate::messages::Job;

/// Places of a pool begin at multiples of this, as memory of its own does with every vendor.
const ALIGNMENT: usize = 256;

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

/// Where one call reads and writes, and how many such places there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Layout {
    in_place: bool,
    /// Bytes that a call reads, and writes.
    lengths: Spots,
    /// Where they begin within a place.
    offsets: Spots,
    /// From a place to the next, in the memory that is read and in that which is written; in place they are the same memory.
    strides: Spots,
    places: usize,
}

/// One number for what is read and one for what is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Spots {
    read: usize,
    written: usize,
}

impl Layout {
    /// Of a rank's calls; `pool` is how many bytes calls that rotate go through.
    fn of(job: &Job, ranks: u32, rank: u32, pool: u64) -> Self {
        let part = usize::try_from(job.bytes_per_rank).unwrap_or(usize::MAX);
        let parts = |number: u32| part.saturating_mul(number as usize);
        let (read, written) = match job.kind {
            CollectiveKind::AllGather => (part, parts(ranks)),
            CollectiveKind::ReduceScatter => (parts(ranks), part),
            CollectiveKind::AllReduce | CollectiveKind::Broadcast | CollectiveKind::SendRecv => {
                (part, part)
            }
        };
        let in_place = job.placement == BufferPlacement::InPlace;
        let own = |kind| {
            if in_place && job.kind == kind {
                parts(rank)
            } else {
                0
            }
        };
        let rotates = job.cache == BufferCache::Rotate;
        let stride = |bytes: usize| match bytes.checked_next_multiple_of(ALIGNMENT) {
            Some(whole) if rotates => whole,
            _ => bytes,
        };
        let mut layout = Self {
            in_place,
            lengths: Spots { read, written },
            offsets: Spots {
                read: own(CollectiveKind::AllGather),
                written: own(CollectiveKind::ReduceScatter),
            },
            strides: if in_place {
                Spots {
                    read: stride(read.max(written)),
                    written: stride(read.max(written)),
                }
            } else {
                Spots {
                    read: stride(read),
                    written: stride(written),
                }
            },
            places: 1,
        };
        if rotates {
            let places = pool.div_ceil(layout.place_bytes().max(1));
            layout.places = usize::try_from(places).unwrap_or(usize::MAX).max(2);
        }
        layout
    }

    /// Device memory of one place.
    fn place_bytes(&self) -> u64 {
        let read = if self.in_place { 0 } else { self.strides.read };
        (read as u64).saturating_add(self.strides.written as u64)
    }
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
    use measure::record::ElementType;

    fn layout(kind: CollectiveKind, placement: BufferPlacement, cache: BufferCache) -> Layout {
        let job = Job {
            kind,
            element: ElementType::F32,
            bytes_per_rank: 1000,
            placement,
            cache,
            verify: true,
        };
        // Rank 2 of 4, and a pool of 10,000 B.
        Layout::of(&job, 4, 2, 10_000)
    }

    /// Device memory of all places.
    fn bytes(layout: Layout) -> u64 {
        layout.place_bytes() * layout.places as u64
    }

    #[test]
    fn in_place_a_rank_has_its_part_of_the_whole_at_its_place() {
        use BufferPlacement::{InPlace, OutOfPlace};
        let hot = |kind, placement| layout(kind, placement, BufferCache::Hot);
        let gather = hot(CollectiveKind::AllGather, InPlace);
        // 1000 B are read at 2 * 1000, within the 4000 B that are written.
        assert_eq!((gather.offsets.read, gather.offsets.written), (2000, 0));
        assert_eq!((gather.lengths.read, gather.lengths.written), (1000, 4000));
        let scatter = hot(CollectiveKind::ReduceScatter, InPlace);
        assert_eq!((scatter.offsets.read, scatter.offsets.written), (0, 2000));
        assert_eq!(bytes(scatter), 4000);
        // Out of place: 4000 B and 1000 B.
        let scatter = hot(CollectiveKind::ReduceScatter, OutOfPlace);
        assert_eq!((scatter.offsets.read, scatter.offsets.written), (0, 0));
        assert_eq!(bytes(scatter), 5000);
        assert_eq!(bytes(hot(CollectiveKind::AllReduce, InPlace)), 1000);
        assert_eq!(bytes(hot(CollectiveKind::AllReduce, OutOfPlace)), 2000);
    }

    #[test]
    fn calls_that_rotate_have_aligned_places_that_fill_the_pool() {
        let rotating = |kind, placement| layout(kind, placement, BufferCache::Rotate);
        // 1000 B go up to 1024 twice: 10,000 / 2048 = 4.9, so 5 places.
        let reduce = rotating(CollectiveKind::AllReduce, BufferPlacement::OutOfPlace);
        assert_eq!((reduce.places, bytes(reduce)), (5, 5 * 2048));
        // 4000 B go up to 4096: 2.4, so 3.
        let gather = rotating(CollectiveKind::AllGather, BufferPlacement::InPlace);
        assert_eq!((gather.places, bytes(gather)), (3, 3 * 4096));
    }

    #[test]
    fn a_call_larger_than_the_pool_still_has_another_place_than_the_one_before() {
        let job = Job {
            kind: CollectiveKind::AllReduce,
            element: ElementType::F32,
            bytes_per_rank: 1 << 20,
            placement: BufferPlacement::OutOfPlace,
            cache: BufferCache::Rotate,
            verify: true,
        };
        assert_eq!(Layout::of(&job, 2, 0, 4096).places, 2);
    }

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
