//! [`Ccl`]: a vendor's library in the shape that every library of collectives has.

use std::marker::PhantomData;
use std::path::Path;

use super::communicator::{CclCommunicator, alone};
use super::library::Library;
use super::table::Vendor;
use crate::backend::Backend;
use crate::collectives::{Collectives, CollectivesFacts, UniqueId, check_membership};
use crate::error::Result;
use crate::runtime::Device;

/// A vendor's library that was loaded.
pub(crate) struct Ccl<V> {
    library: &'static Library,
    facts: CollectivesFacts,
    vendor: PhantomData<V>,
}

impl<V: Vendor> Collectives for Ccl<V> {
    type Backend = V::Backend;
    type Communicator = CclCommunicator;

    /// Without a path: what the vendor's variable `TPLENS_*CCL` names and nothing else, or else the library's names in the
    /// loader's path, the folders of the vendor's installation, and those of the Python environment `VIRTUAL_ENV`. A path is
    /// the file, or a folder that has it: a Python environment or an installation.
    fn open(file: Option<&Path>) -> Result<Self> {
        let library = Library::load(V::TABLE, file)?;
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
        device: &Device,
        id: &UniqueId,
        ranks: u32,
        rank: u32,
    ) -> Result<CclCommunicator> {
        check_membership(ranks, rank)?;
        let id = id.bytes(V::TABLE.name)?;
        CclCommunicator::join(self.library, device.context(), id, ranks, rank)
    }
}

/// The version in words: two digits for the minor one from 2.9 on, one before (nccl.h, `NCCL_VERSION`). RCCL says the version of
/// the NCCL that it follows; that MCCL codes its version so too is assumed.
fn version_text(code: u32) -> String {
    let major = if code < 10_000 { 1000 } else { 10_000 };
    let (major, rest) = (code / major, code % major);
    format!("{major}.{}.{}", rest / 100, rest % 100)
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
