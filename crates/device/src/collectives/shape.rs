//! The shape that every collective library has, and the checks that all of them make.

use std::ops::Range;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::element::{ELEMENTS, Element, width};
use super::id::UniqueId;
use crate::backend::{Backend, Device};
use crate::error::{DeviceError, Result};

/// What is known of a collective library.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CollectivesFacts {
    /// Such as `nccl`, or `host` for the host backend.
    pub name: String,
    /// Its version, such as `2.27.3`; `None` where it has none of its own.
    pub version: Option<String>,
    /// The file that was loaded, where one was and the loader says which.
    pub file: Option<PathBuf>,
    /// Name of the simulated machine, where the library is a simulated one.
    pub soft_box: Option<String>,
}

/// A collective library that answered.
pub trait Collectives: Sized {
    /// The backend whose memory and streams it works on.
    type Backend: Backend;
    /// Its communicators.
    type Communicator: Communicator<
            Stream = <<Self::Backend as Backend>::Device as Device>::Stream,
            DeviceBuffer = <<Self::Backend as Backend>::Device as Device>::DeviceBuffer,
        >;

    /// Loads the library: the given file, or that of the given folder, and no other; or the first that is found.
    ///
    /// # Errors
    /// The library or a symbol is missing, or it takes no file.
    fn open(file: Option<&Path>) -> Result<Self>;

    /// What is known of the library.
    fn facts(&self) -> &CollectivesFacts;

    /// Makes the id of a new communicator, which one process makes and all ranks are given.
    ///
    /// This value must live until all ranks have joined: it answers for the id.
    ///
    /// # Errors
    /// The library's words.
    fn unique_id(&self) -> Result<UniqueId>;

    /// Makes a communicator of one rank and ends it, on any device: says in words what a run would meet.
    ///
    /// # Errors
    /// The library's words, such as that there is no driver.
    fn try_alone(&self) -> Result<()> {
        let device = Self::Backend::open()?.device(0)?;
        self.join(&device, &self.unique_id()?, 1, 0).map(drop)
    }

    /// Joins a communicator as one of its ranks, and waits until all have.
    ///
    /// # Errors
    /// An id of another library, a rank that does not exist or is taken, or the library's words.
    fn join(
        &self,
        device: &<Self::Backend as Backend>::Device,
        id: &UniqueId,
        ranks: u32,
        rank: u32,
    ) -> Result<Self::Communicator>;
}

/// One rank's end of a communicator.
///
/// Every rank must make the same calls in the same order. A call is queued in a stream and holds its buffers, as copies do,
/// until the stream was waited for or, where it was captured, as the graph does. Ranges are checked, and so is that offsets
/// are multiples of the element. Nothing is done for 0 elements.
pub trait Communicator {
    /// Streams that its calls are queued in.
    type Stream;
    /// Memory that they work on.
    type DeviceBuffer;

    /// Queues a call. Offsets are in bytes, and what `elements` counts [`Operation`] says for each.
    ///
    /// In place where `from` is the place in `to` that this rank's part goes to, or `to` the place in `from` that it comes from.
    ///
    /// # Errors
    /// A range outside a buffer, parts that overlap otherwise, a communicator that is broken, or the library's words.
    fn queue(
        &self,
        operation: Operation,
        to: (&Self::DeviceBuffer, usize),
        from: (&Self::DeviceBuffer, usize),
        elements: usize,
        element: Element,
        stream: &Self::Stream,
    ) -> Result<()>;

    /// Says whether work of this communicator failed after it was queued.
    ///
    /// # Errors
    /// What went wrong first.
    fn async_error(&self) -> Result<()>;
}

/// A collective operation. `elements` of a call are those of one rank's part. After an all-reduce `to` of every rank is the
/// element-wise sum of all ranks' `from`, of `elements` each. After an all-gather it is all ranks' `from` in rank order: each has
/// `elements`, and `to` as many times as many. After a reduce-scatter `to` of rank r is part r of the element-wise sum of all ranks'
/// `from`: `to` has `elements`, and `from` as many for each rank.
pub use record::CollectiveKind as Operation;

/// The operations that are called here.
pub const OPERATIONS: [Operation; 3] = [
    Operation::AllReduce,
    Operation::AllGather,
    Operation::ReduceScatter,
];

/// How many times a rank's part each rank reads and writes, among so many ranks.
#[must_use]
pub fn parts(operation: Operation, ranks: u32) -> (usize, usize) {
    match operation {
        Operation::AllGather => (1, ranks as usize),
        Operation::ReduceScatter => (ranks as usize, 1),
        _ => (1, 1),
    }
}

/// How many bytes a call reads and writes on each rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Lengths {
    pub(crate) from: usize,
    pub(crate) to: usize,
}

impl Lengths {
    /// Of a call, after a check that there is such a call and that both offsets are multiples of the element.
    pub(crate) fn of(
        operation: Operation,
        elements: usize,
        element: Element,
        ranks: u32,
        offsets: [usize; 2],
    ) -> Result<Self> {
        if !OPERATIONS.contains(&operation) || !ELEMENTS.contains(&element) {
            return Err(DeviceError::Unsupported {
                what: "the collective",
                why: format!("{operation} of {element} is not called here"),
            });
        }
        let bytes = width(element);
        if let Some(offset) = offsets.iter().find(|at| *at % bytes != 0) {
            return Err(DeviceError::Argument {
                what: "the offset",
                why: format!("{offset} is no multiple of the {bytes} bytes of {element}"),
            });
        }
        let part = elements.checked_mul(bytes);
        let (reads, writes) = parts(operation, ranks);
        let times = |number| part.and_then(|part| part.checked_mul(number));
        times(reads)
            .zip(times(writes))
            .map(|(from, to)| Self { from, to })
            .ok_or_else(|| DeviceError::Argument {
                what: "the number of elements",
                why: format!("{elements} for {ranks} ranks are more bytes than can be addressed"),
            })
    }
}

/// Checks that two parts of one buffer overlap only where the operation is then in place.
pub(crate) fn check_aliasing(
    operation: Operation,
    lengths: Lengths,
    rank: u32,
    to: usize,
    from: usize,
) -> Result<()> {
    let own = |start: usize, part: usize| start.saturating_add(part.saturating_mul(rank as usize));
    let in_place = match operation {
        Operation::AllGather => from == own(to, lengths.from),
        Operation::ReduceScatter => to == own(from, lengths.to),
        _ => from == to,
    };
    let end = |start: usize, bytes: usize| start.saturating_add(bytes);
    let (written, read): (Range<usize>, Range<usize>) =
        (to..end(to, lengths.to), from..end(from, lengths.from));
    if in_place || written.end <= read.start || read.end <= written.start {
        return Ok(());
    }
    Err(DeviceError::Argument {
        what: "the pair of buffers",
        why: format!(
            "bytes {read:?} that the {operation} reads overlap the bytes {written:?} that it writes, and it is not in place"
        ),
    })
}

/// Checks that a rank is one of a communicator.
pub(crate) fn check_membership(ranks: u32, rank: u32) -> Result<()> {
    if rank < ranks {
        return Ok(());
    }
    Err(DeviceError::Argument {
        what: "the rank",
        why: format!("{rank} is none of {ranks} ranks, which are counted from 0"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_all_gather_writes_what_all_ranks_read() {
        let of = |kind, elements, offsets| Lengths::of(kind, elements, Element::F16, 4, offsets);
        // 3 elements of 2 bytes, from 4 ranks: 6 and 24.
        let (reduced, gathered) = (Lengths { from: 6, to: 6 }, Lengths { from: 6, to: 24 });
        let scattered = Lengths { from: 24, to: 6 };
        assert_eq!(of(Operation::ReduceScatter, 3, [2, 4]).unwrap(), scattered);
        assert_eq!(of(Operation::AllReduce, 3, [2, 4]).unwrap(), reduced);
        assert_eq!(of(Operation::AllGather, 3, [2, 4]).unwrap(), gathered);
        for refused in [
            of(Operation::AllReduce, 3, [1, 4]),
            of(Operation::AllReduce, 3, [0, 5]),
            of(Operation::AllReduce, usize::MAX, [0, 0]),
            of(Operation::AllGather, usize::MAX / 4, [0, 0]),
        ] {
            assert!(
                matches!(refused, Err(DeviceError::Argument { .. })),
                "{refused:?}"
            );
        }
    }
}
