//! What differs from library to library: one row each.

use boxfile::CollectiveLibrary;
use std::ffi::{CStr, c_int};

/// A library of collectives.
#[derive(Debug)]
pub struct Library {
    /// Its tables in box files.
    pub(crate) tables: CollectiveLibrary,
    /// Its name without "lib", also in box files.
    pub(crate) name: &'static str,
    /// Its version as `NCCL_VERSION` codes it: major x 10000 + minor x 100 + patch.
    pub(crate) version: c_int,
    /// What the variables begin with that it obeys, and what stands before "INFO" in its log.
    pub(crate) variables: &'static str,
    /// The simulated driver that it works with.
    pub(crate) driver: Names,
    /// The words of its log.
    pub(crate) log: Log,
}

/// Where a vendor's driver is, and the names of its functions.
#[derive(Debug)]
pub(crate) struct Names {
    /// The names under which programs load it.
    pub(crate) files: &'static [&'static CStr],
    /// What stands before "failure" in words about it.
    pub(crate) word: &'static str,
    /// Writes the ordinal of the calling thread's device.
    pub(crate) get_device: &'static CStr,
    /// Writes the PCI address of an ordinal.
    pub(crate) get_bus_id: &'static CStr,
}

/// How a library writes its log.
#[derive(Debug)]
pub struct Log {
    /// The line that tells the version.
    pub(crate) banner: &'static str,
    /// A channel directly between devices.
    pub(crate) direct: &'static str,
    /// A channel through shared host memory.
    pub(crate) shared: &'static str,
    /// Whether the bus id of its device stands in brackets behind a rank, in hexadecimal digits, and not its number in the machine; a
    /// channel's line then ends with its communicator and the number of ranks.
    pub(crate) ends_by_bus: bool,
}

/// The texts of `ncclGetErrorString` (NCCL, src/init.cc), by code.
pub(crate) const TEXTS: [&CStr; 8] = [
    c"no error",
    c"unhandled cuda error (run with NCCL_DEBUG=INFO for details)",
    c"unhandled system error (run with NCCL_DEBUG=INFO for details)",
    c"internal error - please report this issue to the NCCL developers",
    c"invalid argument (run with NCCL_DEBUG=WARN for details)",
    c"invalid usage (run with NCCL_DEBUG=WARN for details)",
    c"remote process exited or there was a network error",
    c"NCCL operation in progress",
];

/// NVIDIA's library.
pub static NCCL: Library = Library {
    tables: CollectiveLibrary::Nccl,
    name: "nccl",
    version: 22902,
    variables: "NCCL",
    driver: Names {
        files: &[c"libcuda.so.1", c"libcuda.so"],
        word: "Cuda",
        get_device: c"cuCtxGetDevice",
        get_bus_id: c"cuDeviceGetPCIBusId",
    },
    log: Log {
        banner: "NCCL version 2.29.2+cuda13.0",
        direct: "P2P/CUMEM",
        shared: "SHM/direct",
        ends_by_bus: false,
    },
};

/// AMD's library. It obeys NCCL's variables and reports errors in NCCL's words. The version is assumed: what came with ROCm 7.2.
pub static RCCL: Library = Library {
    tables: CollectiveLibrary::Rccl,
    name: "rccl",
    version: 22707,
    variables: "NCCL",
    driver: Names {
        files: &[c"libamdhip64.so.7", c"libamdhip64.so"],
        word: "HIP",
        get_device: c"hipGetDevice",
        get_bus_id: c"hipDeviceGetPCIBusId",
    },
    log: Log {
        banner: "RCCL version : 2.27.7-HEAD:0000000",
        direct: "P2P/IPC",
        shared: "SHM/direct/direct",
        ends_by_bus: true,
    },
};

/// MetaX's library. Its version, its texts and the words of its log are not published: they are assumed to be those of NCCL, under
/// its own name.
pub static MCCL: Library = Library {
    tables: CollectiveLibrary::Mccl,
    name: "mccl",
    version: 21605,
    variables: "MCCL",
    driver: Names {
        files: &[c"libmcruntime.so"],
        word: "MACA",
        get_device: c"mcGetDevice",
        get_bus_id: c"mcDeviceGetPCIBusId",
    },
    log: Log {
        banner: "MCCL version 2.16.5",
        direct: "P2P/IPC",
        shared: "SHM/direct/direct",
        ends_by_bus: false,
    },
};
