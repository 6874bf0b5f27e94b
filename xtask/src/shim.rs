//! `cargo xtask shim`: builds the delay shims and puts them into `target/shim` under the names of the libraries that they stand
//! before. It runs nothing on them.

use std::path::PathBuf;

use anyhow::Result;

use crate::soft::{Library, install_all};

/// All shims, one row each.
pub(crate) const SHIMS: &[Library] = &[
    Library {
        package: "shim-nccl",
        target: "shim_nccl",
        names: &["libnccl.so.2"],
    },
    Library {
        package: "shim-rccl",
        target: "shim_rccl",
        names: &["librccl.so.1"],
    },
    Library {
        package: "shim-mccl",
        target: "shim_mccl",
        names: &["libmccl.so"],
    },
];

/// Builds all shims, installs them in `target/shim` and returns that folder.
pub(crate) fn install(release: bool) -> Result<PathBuf> {
    install_all("shim", SHIMS, release)
}
