//! Where a call reads and writes within its buffers, as numbers: nothing is allocated here.

use record::{BufferPlacement, CollectiveKind};

use crate::messages::Job;

/// Where a call reads and writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Layout {
    pub(super) in_place: bool,
    /// Bytes that a call reads, and writes.
    pub(super) lengths: Spots,
    /// Where they begin.
    pub(super) offsets: Spots,
}

/// One number for what is read and one for what is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Spots {
    pub(super) read: usize,
    pub(super) written: usize,
}

impl Layout {
    /// Of a rank's calls.
    pub(super) fn of(job: &Job, ranks: u32, rank: u32) -> Self {
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
        Self {
            in_place,
            lengths: Spots { read, written },
            offsets: Spots {
                read: own(CollectiveKind::AllGather),
                written: own(CollectiveKind::ReduceScatter),
            },
        }
    }

    /// Bytes of the memory that is written, and in place read.
    pub(super) fn memory(&self) -> usize {
        match self.in_place {
            true => self.lengths.read.max(self.lengths.written),
            false => self.lengths.written,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::ElementType;

    fn layout(kind: CollectiveKind, placement: BufferPlacement) -> Layout {
        let job = Job {
            kind,
            element: ElementType::F32,
            bytes_per_rank: 1000,
            placement,
            verify: true,
        };
        // Rank 2 of 4.
        Layout::of(&job, 4, 2)
    }

    #[test]
    fn in_place_a_rank_has_its_part_of_the_whole_at_its_place() {
        use BufferPlacement::{InPlace, OutOfPlace};
        let gather = layout(CollectiveKind::AllGather, InPlace);
        // 1000 B are read at 2 * 1000, within the 4000 B that are written.
        assert_eq!((gather.offsets.read, gather.offsets.written), (2000, 0));
        assert_eq!((gather.lengths.read, gather.lengths.written), (1000, 4000));
        let scatter = layout(CollectiveKind::ReduceScatter, InPlace);
        assert_eq!((scatter.offsets.read, scatter.offsets.written), (0, 2000));
        assert_eq!(scatter.memory(), 4000);
        let scatter = layout(CollectiveKind::ReduceScatter, OutOfPlace);
        assert_eq!((scatter.offsets.read, scatter.offsets.written), (0, 0));
        assert_eq!(scatter.memory(), 1000);
    }
}
