//! `cargo xtask soft` and `cargo xtask shim`: build the simulated vendor libraries and the delay shims, and put them under the
//! names that programs load.
//!
//! It runs nothing on them; `--sim` of a program does, and looks for them in `target/soft`.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::cargo::{self, Built};

/// The folder of the target folder that holds the simulated vendor libraries.
pub(crate) const SOFT: &str = "soft";
/// The folder of the target folder that holds the delay shims, each under the name of the library that it stands before.
pub(crate) const SHIM: &str = "shim";

/// A library that is built here: its folder, its package, its C library target, and the names it is installed under, of which the others are links to the
/// first: a program that loads two of them must get one library. Two vendors' names of one package are two rows, hence two files.
pub(crate) struct Library {
    folder: &'static str,
    pub(crate) package: &'static str,
    pub(crate) target: &'static str,
    pub(crate) names: &'static [&'static str],
}

/// All of them, one row each.
pub(crate) const LIBRARIES: &[Library] = &[
    Library {
        folder: SOFT,
        package: "soft-runtime",
        target: "soft_runtime",
        names: &["libcuda.so.1", "libcuda.so"],
    },
    Library {
        folder: SOFT,
        package: "soft-nvml",
        target: "soft_nvml",
        names: &["libnvidia-ml.so.1"],
    },
    Library {
        folder: SOFT,
        package: "soft-nccl",
        target: "soft_nccl",
        names: &["libnccl.so.2", "libnccl.so"],
    },
    Library {
        folder: SOFT,
        package: "soft-rccl",
        target: "soft_rccl",
        names: &["librccl.so.1", "librccl.so"],
    },
    Library {
        folder: SOFT,
        package: "soft-mccl",
        target: "soft_mccl",
        names: &["libmccl.so"],
    },
    Library {
        folder: SOFT,
        package: "soft-runtime",
        target: "soft_runtime",
        names: &["libamdhip64.so.7", "libamdhip64.so"],
    },
    Library {
        folder: SOFT,
        package: "soft-runtime",
        target: "soft_runtime",
        names: &["libmcruntime.so"],
    },
    Library {
        folder: SHIM,
        package: "shim-nccl",
        target: "shim_nccl",
        names: &["libnccl.so.2"],
    },
    Library {
        folder: SHIM,
        package: "shim-rccl",
        target: "shim_rccl",
        names: &["librccl.so.1"],
    },
];

/// Builds the libraries of one folder and puts them into that folder of the target folder.
pub(crate) fn install(folder: &str, release: bool) -> Result<()> {
    place(
        &Built::packages(&packages(&[folder]), release)?,
        &cargo::target_directory()?,
        &[folder],
    )
}

/// The packages of the libraries of these folders; one that has two rows is named twice.
pub(crate) fn packages(folders: &[&str]) -> Vec<&'static str> {
    of(folders).map(|library| library.package).collect()
}

/// Puts the libraries of these folders, which were built, into the folders below `root`.
pub(crate) fn place(built: &Built, root: &Path, folders: &[&str]) -> Result<()> {
    for library in of(folders) {
        let folder = root.join(library.folder);
        fs::create_dir_all(&folder)
            .with_context(|| format!("{} cannot be made", folder.display()))?;
        let file = built.file(library.target)?;
        let (first, others) = library
            .names
            .split_first()
            .context("a library has a name")?;
        replace(&folder.join(first), |new| fs::copy(&file, new).map(drop))?;
        for name in others {
            replace(&folder.join(name), |new| {
                std::os::unix::fs::symlink(first, new)
            })?;
        }
    }
    Ok(())
}

fn of(folders: &[&str]) -> impl Iterator<Item = &'static Library> {
    LIBRARIES
        .iter()
        .filter(move |library| folders.contains(&library.folder))
}

/// Makes beside the place and renames, so that a program that runs meanwhile sees the old file or the new one.
fn replace(to: &Path, make: impl FnOnce(&Path) -> io::Result<()>) -> Result<()> {
    let mut new = to.as_os_str().to_owned();
    new.push(format!(".new-{}", std::process::id()));
    let new = PathBuf::from(new);
    make(&new).with_context(|| format!("{} cannot be made", new.display()))?;
    fs::rename(&new, to).with_context(|| format!("{} cannot be replaced", to.display()))
}
