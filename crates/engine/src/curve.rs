//! The time of one collective inside a step, by operation, path and size.

use boxfile::{BoxFile, CollectiveLibrary};
use record::{CollectiveKind, CollectivePath};

/// Times of the collectives of one group of ranks.
pub struct Curve(Times);

/// Microseconds of one call by operation, path and bytes per rank; `None` where no time is known.
type Times = Box<dyn Fn(CollectiveKind, CollectivePath, u64) -> Option<f64> + Send + Sync>;

impl Curve {
    /// A curve from a function of operation, path and bytes per rank that gives microseconds, or `None` where no time is
    /// known.
    pub fn new(
        times: impl Fn(CollectiveKind, CollectivePath, u64) -> Option<f64> + Send + Sync + 'static,
    ) -> Self {
        Self(Box::new(times))
    }

    /// The curves of a box's `[[collective]]` tables for so many ranks, without their launch cost: a step's host time has
    /// that.
    #[must_use]
    pub fn of_box(described: &BoxFile, ranks: u32) -> Self {
        let described = described.clone();
        let of_vendor = described.collective_library();
        Self::new(move |kind, path, bytes| {
            let library = match path {
                CollectivePath::Library => of_vendor?,
                CollectivePath::Custom => CollectiveLibrary::Custom,
            };
            let kind = match kind {
                CollectiveKind::AllReduce => boxfile::CollectiveKind::AllReduce,
                CollectiveKind::AllGather => boxfile::CollectiveKind::AllGather,
                CollectiveKind::ReduceScatter => boxfile::CollectiveKind::ReduceScatter,
                CollectiveKind::Broadcast | CollectiveKind::SendRecv => return None,
            };
            described.collective_us(library, kind, ranks, bytes)
        })
    }

    /// Microseconds of one call; `None` where no time is known.
    #[must_use]
    pub fn us(
        &self,
        kind: CollectiveKind,
        path: CollectivePath,
        bytes_per_rank: u64,
    ) -> Option<f64> {
        (self.0)(kind, path, bytes_per_rank)
    }
}

impl std::fmt::Debug for Curve {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Curve")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_library_of_a_box_is_its_vendors() {
        let us = |name, path| {
            let described = BoxFile::builtin(name).unwrap();
            Curve::of_box(&described, 2).us(CollectiveKind::AllReduce, path, 65536)
        };
        // From the boxes' tables: NCCL, RCCL by LL, MCCL.
        let library = CollectivePath::Library;
        assert_eq!(us("l40x4", library), Some(12.6));
        assert_eq!(us("r9700-x16", library), Some(19.7));
        assert_eq!(us("mxc500x4", library), Some(20.8));
        // An engine's own kernel, which was timed on the first alone.
        assert_eq!(us("l40x4", CollectivePath::Custom), Some(9.9));
        assert_eq!(us("r9700-x16", CollectivePath::Custom), None);
    }
}
