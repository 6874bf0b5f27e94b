//! The shape that every collective library has, and the checks that all of them make.

use std::ops::Range;
use std::path::{Path, PathBuf};

use super::{Element, UniqueId};
use crate::backend::{Backend, Device};
use crate::error::{DeviceError, Result};

/// What is known of a collective library.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CollectivesFacts {
    /// `nccl`, or `host` for shared host memory.
    pub name: String,
    /// Its version, such as `2.27.3`; `None` where it has none of its own.
    pub version: Option<String>,
    /// The file that was loaded, where one was and the loader says which.
    pub file: Option<PathBuf>,
    /// Name of the soft box, where the library is a soft one.
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

    /// Loads the library: the given file and no other, or the first that is found.
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

    /// Queues an all-reduce: `to` of every rank becomes the element-wise sum of all ranks' `from`. Offsets are in bytes.
    ///
    /// In place where both parts are the same one.
    ///
    /// # Errors
    /// A range outside a buffer, parts that overlap otherwise, a communicator that is broken, or the library's words.
    fn all_reduce(
        &self,
        to: (&Self::DeviceBuffer, usize),
        from: (&Self::DeviceBuffer, usize),
        elements: usize,
        element: Element,
        stream: &Self::Stream,
    ) -> Result<()>;

    /// Queues an all-gather: `to` of every rank becomes all ranks' `from` in rank order. Offsets are in bytes, `elements` are
    /// those that each rank has.
    ///
    /// In place where `from` is the place in `to` that it goes to.
    ///
    /// # Errors
    /// As [`Communicator::all_reduce`].
    fn all_gather(
        &self,
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

    /// Leaves at once: work that is queued or under way is given up, and other ranks may find this one gone.
    fn abort(self);
}

/// A collective operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    AllReduce,
    AllGather,
}

impl Kind {
    /// As the vendors' manuals call it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::AllReduce => "all-reduce",
            Self::AllGather => "all-gather",
        }
    }
}

/// How many bytes a call reads and writes on each rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Lengths {
    pub(crate) from: usize,
    pub(crate) to: usize,
}

impl Lengths {
    /// Of a call, after a check that both offsets are multiples of the element.
    pub(crate) fn of(
        kind: Kind,
        elements: usize,
        element: Element,
        ranks: u32,
        offsets: [usize; 2],
    ) -> Result<Self> {
        if let Some(offset) = offsets.iter().find(|at| *at % element.bytes() != 0) {
            let (name, bytes) = (element.name(), element.bytes());
            return Err(DeviceError::Argument {
                what: "the offset",
                why: format!("{offset} is no multiple of the {bytes} bytes of {name}"),
            });
        }
        let from = elements.checked_mul(element.bytes());
        let times = match kind {
            Kind::AllReduce => 1,
            Kind::AllGather => ranks as usize,
        };
        let to = from.and_then(|from| from.checked_mul(times));
        from.zip(to)
            .map(|(from, to)| Self { from, to })
            .ok_or_else(|| DeviceError::Argument {
                what: "the number of elements",
                why: format!("{elements} for {ranks} ranks are more bytes than can be addressed"),
            })
    }
}

/// Checks that two parts of one buffer overlap only where the operation is then in place.
pub(crate) fn check_aliasing(
    kind: Kind,
    lengths: Lengths,
    rank: u32,
    to: usize,
    from: usize,
) -> Result<()> {
    let own = match kind {
        Kind::AllReduce => to,
        Kind::AllGather => to.saturating_add(lengths.from.saturating_mul(rank as usize)),
    };
    let end = |start: usize, bytes: usize| start.saturating_add(bytes);
    let (written, read): (Range<usize>, Range<usize>) =
        (to..end(to, lengths.to), from..end(from, lengths.from));
    if from == own || written.end <= read.start || read.end <= written.start {
        return Ok(());
    }
    Err(DeviceError::Argument {
        what: "the pair of buffers",
        why: format!(
            "bytes {read:?} that the {} reads overlap the bytes {written:?} that it writes, and it is not in place",
            kind.name()
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
        assert_eq!(of(Kind::AllReduce, 3, [2, 4]).unwrap(), reduced);
        assert_eq!(of(Kind::AllGather, 3, [2, 4]).unwrap(), gathered);
        for refused in [
            of(Kind::AllReduce, 3, [1, 4]),
            of(Kind::AllReduce, 3, [0, 5]),
            of(Kind::AllReduce, usize::MAX, [0, 0]),
            of(Kind::AllGather, usize::MAX / 4, [0, 0]),
        ] {
            assert!(
                matches!(refused, Err(DeviceError::Argument { .. })),
                "{refused:?}"
            );
        }
    }

    #[test]
    fn parts_may_be_apart_or_in_place_and_not_overlap() {
        let reduce =
            |to, from| check_aliasing(Kind::AllReduce, Lengths { from: 8, to: 8 }, 1, to, from);
        for (to, from) in [(0, 0), (16, 16), (0, 8), (8, 0)] {
            reduce(to, from).unwrap();
        }
        assert!(reduce(0, 4).is_err() && reduce(4, 0).is_err());
        // Rank 1 of 2 has 8 bytes, whose place in what is gathered at 0 is byte 8.
        let gather =
            |to, from| check_aliasing(Kind::AllGather, Lengths { from: 8, to: 16 }, 1, to, from);
        for (to, from) in [(0, 8), (0, 16), (8, 0)] {
            gather(to, from).unwrap();
        }
        assert!(gather(0, 0).is_err() && gather(0, 12).is_err());
    }
}
