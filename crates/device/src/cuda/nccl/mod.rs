//! NCCL, loaded at run time: one communicator for each process and rank.
//!
//! The library is asked for sums and gathers only. Which transport it takes is its own choice (`NCCL_DEBUG=INFO` tells).

mod ffi;
mod places;

use std::path::Path;
use std::sync::Arc;

use super::{Cuda, Device, DeviceBuffer, Stream};
use crate::collectives::{
    Collectives, CollectivesFacts, Communicator, Element, Kind, Lengths, UniqueId, check_aliasing,
    check_membership,
};
use crate::error::Result;
use ffi::{Library, RawCommunicator};

/// NVIDIA's collective library.
pub struct Nccl {
    library: Library,
    facts: CollectivesFacts,
}

impl Collectives for Nccl {
    type Backend = Cuda;
    type Communicator = NcclCommunicator;

    /// Without a file: the one that the environment variable `TPLENS_NCCL` names and no other, or else `libnccl.so.2` and
    /// `libnccl.so` in the loader's path, or else the one of the Python environment `VIRTUAL_ENV`.
    fn open(file: Option<&Path>) -> Result<Self> {
        let library = Library::load(&places::candidates(file))?;
        let facts = CollectivesFacts {
            name: "nccl".to_owned(),
            version: Some(version_text(library.version()?)),
            file: library.file(),
            soft_box: library.soft_box(),
        };
        Ok(Self { library, facts })
    }

    fn facts(&self) -> &CollectivesFacts {
        &self.facts
    }

    fn unique_id(&self) -> Result<UniqueId> {
        self.library.unique_id().map(|id| UniqueId::from_bytes(&id))
    }

    fn join(
        &self,
        device: &Device,
        id: &UniqueId,
        ranks: u32,
        rank: u32,
    ) -> Result<NcclCommunicator> {
        check_membership(ranks, rank)?;
        let raw = RawCommunicator::join(
            &self.library,
            &device.context,
            id.bytes("nccl")?,
            ranks,
            rank,
        )?;
        Ok(NcclCommunicator {
            raw: Arc::new(raw),
            ranks,
            rank,
        })
    }
}

/// The version as NCCL codes it: two digits for the minor one from 2.9 on, one before (nccl.h, `NCCL_VERSION`).
fn version_text(code: u32) -> String {
    let major = if code < 10_000 { 1000 } else { 10_000 };
    let (major, rest) = (code / major, code % major);
    format!("{major}.{}.{}", rest / 100, rest % 100)
}

/// One rank of an NCCL communicator.
///
/// The library is called by one thread at a time. A rank that ended is noticed by NCCL's own means, if at all: a stream that
/// waits for it may wait for ever.
pub struct NcclCommunicator {
    raw: Arc<RawCommunicator>,
    ranks: u32,
    rank: u32,
}

impl NcclCommunicator {
    fn queue(
        &self,
        kind: Kind,
        to: (&DeviceBuffer, usize),
        from: (&DeviceBuffer, usize),
        elements: usize,
        element: Element,
        stream: &Stream,
    ) -> Result<()> {
        let lengths = Lengths::of(kind, elements, element, self.ranks, [to.1, from.1])?;
        if Arc::ptr_eq(&to.0.0, &from.0.0) {
            check_aliasing(kind, lengths, self.rank, to.1, from.1)?;
        }
        let (to, from) = (
            (&to.0.0, to.1, lengths.to),
            (&from.0.0, from.1, lengths.from),
        );
        self.raw
            .queue(kind, to, from, elements, element, stream.raw())
    }
}

impl Communicator for NcclCommunicator {
    type Stream = Stream;
    type DeviceBuffer = DeviceBuffer;

    fn all_reduce(
        &self,
        to: (&DeviceBuffer, usize),
        from: (&DeviceBuffer, usize),
        elements: usize,
        element: Element,
        stream: &Stream,
    ) -> Result<()> {
        self.queue(Kind::AllReduce, to, from, elements, element, stream)
    }

    fn all_gather(
        &self,
        to: (&DeviceBuffer, usize),
        from: (&DeviceBuffer, usize),
        elements: usize,
        element: Element,
        stream: &Stream,
    ) -> Result<()> {
        self.queue(Kind::AllGather, to, from, elements, element, stream)
    }

    fn async_error(&self) -> Result<()> {
        self.raw.async_error()
    }

    fn abort(self) {
        self.raw.abort();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_in_both_codings() {
        // nccl.h of 2.8.4, of 2.9.6, and the codes that nccl-tests printed for 2.27.3 and NCCL itself for 2.32.3.
        for (code, text) in [
            (2804, "2.8.4"),
            (20906, "2.9.6"),
            (22703, "2.27.3"),
            (23203, "2.32.3"),
        ] {
            assert_eq!(version_text(code), text);
        }
    }
}
