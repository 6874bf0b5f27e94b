//! What differs between the libraries, one row each.

use crate::driver::{CUDA, HIP, Table};
use std::ffi::CStr;

/// A library of collectives that a shim stands before.
#[derive(Debug)]
pub struct Library {
    /// The function that tells its version, by which a library is known to be one.
    pub(crate) version: &'static CStr,
    /// Names for the loader to find, in this order.
    pub(crate) files: &'static [&'static str],
    /// Folders of `site-packages` that hold it.
    pub(crate) packages: &'static [&'static str],
    /// The driver whose streams it works on.
    pub(crate) driver: &'static Table,
}

/// NVIDIA's.
pub static NCCL: Library = Library {
    version: c"ncclGetVersion",
    files: &["libnccl.so.2", "libnccl.so"],
    packages: &["nvidia/nccl/lib"],
    driver: &CUDA,
};

/// AMD's, whose functions have NVIDIA's names.
pub static RCCL: Library = Library {
    version: c"ncclGetVersion",
    files: &["librccl.so.1", "librccl.so"],
    packages: &["torch/lib"],
    driver: &HIP,
};
