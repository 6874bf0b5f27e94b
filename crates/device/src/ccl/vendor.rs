//! [`Ccl`]: a vendor's library in the shape that every library of collectives has.

use std::marker::PhantomData;
use std::path::Path;
use std::sync::Arc;

use super::carrier::{BufferOf, Carrier, StreamOf};
use super::communicator::{RawCommunicator, alone};
use super::library::Library;
use super::places::Places;
use super::table::{Eight, Table, Vendor};
use super::version::version_text;
use crate::backend::Backend;
use crate::collectives::{
    Collectives, CollectivesFacts, Communicator, Element, Lengths, Operation, UniqueId,
    check_aliasing, check_membership,
};
use crate::error::{DeviceError, Result};

/// A vendor's library that was loaded.
pub(crate) struct Ccl<V> {
    loaded: Loaded,
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
        let version = library.version()?;
        let facts = CollectivesFacts {
            name: V::TABLE.name.to_owned(),
            version: Some(version_text(version)),
            file: library.file(),
            soft_box: library.soft_box(),
        };
        Ok(Self {
            loaded: Loaded { library, version },
            facts,
            vendor: PhantomData,
        })
    }

    fn facts(&self) -> &CollectivesFacts {
        &self.facts
    }

    fn supports(&self, operation: Operation, element: Element) -> Result<()> {
        self.loaded.supports(operation, element)
    }

    fn unique_id(&self) -> Result<UniqueId> {
        let id = self.loaded.library.unique_id()?;
        Ok(UniqueId::from_bytes(&id))
    }

    /// On the first device where the driver has one; else the library is asked all the same, for its own words.
    fn try_alone(&self) -> Result<()> {
        let Ok(backend) = V::Backend::open() else {
            return alone(self.loaded.library);
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
        let raw = RawCommunicator::join(self.loaded.library, context, id, ranks, rank)?;
        Ok(CclCommunicator {
            raw: Arc::new(raw),
            loaded: self.loaded,
        })
    }
}

/// A library and its version.
#[derive(Clone, Copy)]
struct Loaded {
    library: &'static Library,
    /// As the library codes it.
    version: u32,
}

impl Loaded {
    fn supports(self, operation: Operation, element: Element) -> Result<()> {
        let (table, functions) = (self.library.table, &self.library.functions);
        let unsupported = |why| DeviceError::Unsupported {
            what: operation.name(),
            why,
        };
        let missing = match operation {
            Operation::AllReduce => functions.all_reduce.missing(),
            Operation::AllGather => functions.all_gather.missing(),
            Operation::ReduceScatter => functions.reduce_scatter.missing(),
            Operation::Broadcast => functions.broadcast.missing(),
            Operation::SendRecv => {
                let group = functions.group_start.missing();
                let group = group.or_else(|| functions.group_end.missing());
                let one_way = group.or_else(|| functions.send.missing());
                one_way.or_else(|| functions.recv.missing())
            }
        };
        if let Some(missing) = missing {
            let library = table.library;
            return Err(unsupported(format!("{library} has no symbol {missing}")));
        }
        if element.bytes() > 1 || !operation.adds_up() {
            return Ok(());
        }
        adds_up_eight(table, self.version, element).map_err(unsupported)
    }
}

/// Says why a version does not add up an element of 8 bits.
fn adds_up_eight(table: &Table, version: u32, element: Element) -> std::result::Result<(), String> {
    let (interface, name) = (table.interface, element.name());
    match table.eight {
        Eight::From(first) if version >= first => Ok(()),
        Eight::From(first) => Err(format!(
            "{interface} adds up {name} from {} on, and this is {}",
            version_text(first),
            version_text(version)
        )),
        Eight::Unknown => Err(format!(
            "it is not public whether {interface} adds up {name}"
        )),
    }
}

/// One rank of a communicator.
///
/// The library is called by one thread at a time. A rank that ended is noticed by the library's own means, if at all: a stream
/// that waits for it may wait for ever.
pub(crate) struct CclCommunicator<B: Carrier> {
    raw: Arc<RawCommunicator<B>>,
    loaded: Loaded,
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
        self.loaded.supports(operation, element)?;
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vendors::{Mccl, Nccl, Rccl};

    #[test]
    fn eight_bits_are_added_up_from_a_version_on_or_it_is_said_why_not() {
        let of = |table, version| adds_up_eight(table, version, Element::F8E5m2);
        // NCCL 2.24.3 is the first of its release notes to have the types, RCCL 2.20.5 the first of its change log.
        let old = "NCCL adds up f8e5m2 from 2.24.3 on, and this is 2.23.4";
        assert_eq!(of(Nccl::TABLE, 22_304), Err(old.to_owned()));
        assert_eq!(of(Nccl::TABLE, 22_403), Ok(()));
        assert!(of(Rccl::TABLE, 21_803).is_err());
        assert_eq!(of(Rccl::TABLE, 22_005), Ok(()));
        let unknown = "it is not public whether MCCL adds up f8e5m2";
        assert_eq!(of(Mccl::TABLE, 99_999), Err(unknown.to_owned()));
    }
}
