//! What differs between libraries that have NCCL's interface: a table for each. The tables stand in `vendors`.

use super::symbols::CclNames;
use crate::backend::Backend;
use crate::runtime::Device;

/// A vendor's library of collectives.
pub(crate) trait Vendor: 'static {
    /// The backend whose memory and streams it works on.
    type Backend: Backend<Device = Device>;

    /// What is its own.
    const TABLE: &'static Table;
}

/// What differs between the libraries.
pub(crate) struct Table {
    /// Its name in records.
    pub(crate) name: &'static str,
    /// Its name in messages.
    pub(crate) interface: &'static str,
    /// Its file's name in messages.
    pub(crate) library: &'static str,
    /// The beginning of its files' names.
    pub(crate) prefix: &'static str,
    /// Names for the loader to find, in this order.
    pub(crate) files: &'static [&'static str],
    /// The variable that names the file, or a folder that has it.
    pub(crate) variable: &'static str,
    /// Where the vendor installs it, where that is not the loader's path.
    pub(crate) beside: Beside,
    /// Folders of `site-packages` in which Python packages bring it; a `*` stands for the rest of a name.
    pub(crate) packages: &'static [&'static str],
    /// What to do where the library is missing.
    pub(crate) install: &'static str,
    /// Its functions.
    pub(crate) names: CclNames,
    /// What tells it from libraries of other vendors that have its file's name.
    pub(crate) proof: Option<Proof>,
}

/// Folders of an installation.
pub(crate) struct Beside {
    /// The variable that names one; `None` where none is known.
    pub(crate) variable: Option<&'static str>,
    /// Usual ones; a `*` at the end stands for anything.
    pub(crate) folders: &'static [&'static str],
}

/// What the library has and another vendor's by the same file name does not: one of both is enough.
pub(crate) struct Proof {
    /// A function.
    pub(crate) symbol: &'static str,
    /// A file in its folder.
    pub(crate) neighbour: &'static str,
}
