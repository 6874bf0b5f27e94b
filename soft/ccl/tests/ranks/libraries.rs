//! The libraries under test, one row each, with the drivers that they work with.

use boxfile::CollectiveLibrary;

/// A library of collectives as programs find it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Tested {
    /// The file that was built, and the name under which it is loaded.
    pub(crate) built: &'static str,
    pub(crate) file: &'static str,
    /// What its functions begin with.
    pub(crate) prefix: &'static str,
    /// What its variables begin with.
    pub(crate) variables: &'static str,
    /// The driver: the file that was built, the name under which it is loaded, and what its functions begin with.
    pub(crate) driver_built: &'static str,
    pub(crate) driver_file: &'static str,
    pub(crate) driver: &'static str,
    /// A built-in box of its vendor, how many devices it has, and the bus number of the last.
    pub(crate) in_box: &'static str,
    pub(crate) devices: usize,
    pub(crate) tables: CollectiveLibrary,
}

pub(crate) const NCCL: Tested = Tested {
    built: "libsoft_nccl.so",
    file: "libnccl.so.2",
    prefix: "nccl",
    variables: "NCCL",
    driver_built: "libsoft_runtime.so",
    driver_file: "libcuda.so.1",
    driver: "cu",
    in_box: "l40x4",
    devices: 4,
    tables: CollectiveLibrary::Nccl,
};

pub(crate) const RCCL: Tested = Tested {
    built: "libsoft_rccl.so",
    file: "librccl.so.1",
    prefix: "nccl",
    variables: "NCCL",
    driver_built: "libsoft_runtime.so",
    driver_file: "libamdhip64.so.7",
    driver: "hip",
    in_box: "r9700-x8",
    devices: 2,
    tables: CollectiveLibrary::Rccl,
};

pub(crate) const MCCL: Tested = Tested {
    built: "libsoft_mccl.so",
    file: "libmccl.so",
    prefix: "mccl",
    variables: "MCCL",
    driver_built: "libsoft_runtime.so",
    driver_file: "libmcruntime.so",
    driver: "mc",
    in_box: "mxc500x4",
    devices: 4,
    tables: CollectiveLibrary::Mccl,
};

pub(crate) const ALL: [Tested; 3] = [NCCL, RCCL, MCCL];
