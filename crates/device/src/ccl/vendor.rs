//! [`Ccl`]: a vendor's library in the shape that every library of collectives has.

use std::marker::PhantomData;
use std::path::Path;
use std::sync::Arc;

use super::carrier::{BufferOf, Carrier, StreamOf};
use super::communicator::{RawCommunicator, alone};
use super::library::Library;
use super::places::Places;
use super::table::Vendor;
use super::version::version_text;
use crate::backend::Backend;
use crate::collectives::{
    Collectives, CollectivesFacts, Communicator, Element, Lengths, Operation, UniqueId,
    check_aliasing, check_membership,
};
use crate::error::Result;

/// A vendor's library that was loaded.
pub(crate) struct Ccl<V> {
    library: &'static Library,
    facts: CollectivesFacts,
    vendor: PhantomData<V>,
}

impl<V: Vendor> Collectives for Ccl<V> {
    type Backend = V::Backend;
    type Communicator = CclCommunicator<V::Backend>;

    /// Without a path: what the vendor's variable `TPLENS_*CCL` names and nothing else, or else the library's names in the
    /// loader's path, the folders of the vendor's installation, and those of the Python environment `VIRTUAL_ENV`. A path is
    /// the file, or a folder that has it: a Python environment or an installation.
    fn open(file: Option<&Path>) -> Result<Self> {
        let library = Library::load(V::TABLE, &Places::of(V::TABLE, file))?;
        let facts = CollectivesFacts {
            name: V::TABLE.name.to_owned(),
            version: Some(version_text(library.version()?)),
            file: library.file(),
            soft_box: library.soft_box(),
        };
        Ok(Self {
            library,
            facts,
            vendor: PhantomData,
        })
    }

    fn facts(&self) -> &CollectivesFacts {
        &self.facts
    }

    fn unique_id(&self) -> Result<UniqueId> {
        let id = self.library.unique_id()?;
        Ok(UniqueId::from_bytes(&id))
    }

    /// On the first device where the driver has one; else the library is asked all the same, for its own words.
    fn try_alone(&self) -> Result<()> {
        let Ok(backend) = V::Backend::open() else {
            return alone(self.library);
        };
        let device = backend.device(0)?;
        self.join(&device, &self.unique_id()?, 1, 0).map(drop)
    }

    fn join(
        &self,
        device: &<V::Backend as Backend>::Device,
        id: &UniqueId,
        ranks: u32,
        rank: u32,
    ) -> Result<Self::Communicator> {
        check_membership(ranks, rank)?;
        let id = id.bytes(V::TABLE.name)?;
        let context = V::Backend::context(device);
        let raw = RawCommunicator::join(self.library, context, id, ranks, rank)?;
        Ok(CclCommunicator { raw: Arc::new(raw) })
    }
}

/// One rank of a communicator.
///
/// The library is called by one thread at a time. A rank that ended is noticed by the library's own means, if at all: a stream
/// that waits for it may wait for ever.
pub(crate) struct CclCommunicator<B: Carrier> {
    raw: Arc<RawCommunicator<B>>,
}

impl<B: Carrier> Communicator for CclCommunicator<B> {
    type Stream = StreamOf<B>;
    type DeviceBuffer = BufferOf<B>;

    fn queue(
        &self,
        operation: Operation,
        to: (&BufferOf<B>, usize),
        from: (&BufferOf<B>, usize),
        elements: usize,
        element: Element,
        stream: &StreamOf<B>,
    ) -> Result<()> {
        let (ranks, rank) = self.raw.membership();
        let lengths = Lengths::of(operation, elements, element, ranks, [to.1, from.1])?;
        let (target, source) = (B::memory(to.0), B::memory(from.0));
        if Arc::ptr_eq(target, source) {
            check_aliasing(operation, lengths, rank, to.1, from.1)?;
        }
        let (to, from) = ((target, to.1, lengths.to), (source, from.1, lengths.from));
        self.raw
            .queue(operation, to, from, elements, element, stream)
    }

    fn async_error(&self) -> Result<()> {
        self.raw.async_error()
    }

    fn abort(self) {
        self.raw.abort();
    }
}
