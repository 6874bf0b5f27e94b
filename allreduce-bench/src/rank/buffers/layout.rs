//! Where a call reads and writes within its buffers, as numbers: nothing is allocated here.

use measure::record::{BufferCache, BufferPlacement, CollectiveKind};

use crate::messages::Job;

/// Places of a pool begin at multiples of this, as memory of its own does with every vendor.
const ALIGNMENT: usize = 256;

/// Where one call reads and writes, and how many such places there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Layout {
    pub(super) in_place: bool,
    /// Bytes that a call reads, and writes.
    pub(super) lengths: Spots,
    /// Where they begin within a place.
    pub(super) offsets: Spots,
    /// From a place to the next, in the memory that is read and in that which is written; in place they are the same memory.
    pub(super) strides: Spots,
    pub(super) places: usize,
}

/// One number for what is read and one for what is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Spots {
    pub(super) read: usize,
    pub(super) written: usize,
}

impl Layout {
    /// Of a rank's calls; `pool` is how many bytes calls that rotate go through.
    pub(super) fn of(job: &Job, ranks: u32, rank: u32, pool: u64) -> Self {
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
}
