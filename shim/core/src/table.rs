//! What differs between the libraries, one row each.

use crate::driver::{CUDA, HIP, MACA, Table};
use std::ffi::CStr;

/// A library of collectives that a shim stands before.
#[derive(Debug)]
pub struct Library {
    /// What its functions begin with.
    pub(crate) prefix: &'static str,
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
    prefix: "nccl",
    version: c"ncclGetVersion",
    files: &["libnccl.so.2", "libnccl.so"],
    packages: &["nvidia/nccl/lib"],
    driver: &CUDA,
};

/// AMD's, whose functions have NVIDIA's names.
pub static RCCL: Library = Library {
    prefix: "nccl",
    version: c"ncclGetVersion",
    files: &["librccl.so.1", "librccl.so"],
    packages: &["torch/lib"],
    driver: &HIP,
};

/// MetaX's.
pub static MCCL: Library = Library {
    prefix: "mccl",
    version: c"mcclGetVersion",
    files: &["libmccl.so"],
    packages: &[],
    driver: &MACA,
};

/// An operation that can be delayed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// `ncclAllReduce` and its variants.
    AllReduce,
    /// `ncclAllGather` and its variant.
    AllGather,
    /// `ncclReduceScatter` and its variant.
    ReduceScatter,
}

impl Operation {
    /// All, with their words.
    pub(crate) const WORDS: [(&'static str, Self); 3] = [
        ("all_reduce", Self::AllReduce),
        ("all_gather", Self::AllGather),
        ("reduce_scatter", Self::ReduceScatter),
    ];
}
