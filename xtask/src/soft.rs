//! `cargo xtask soft`: builds the soft vendor libraries and puts them under the names that programs load.
//!
//! It does not run anything on them; `--sim` of a program does, and looks for them in `target/soft`.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::cargo;

/// A library that is built here: its package, its C library target, and the names it is installed under, of which the others are links to the
/// first: a program that loads two of them must get one library. Two vendors' names of one package are two rows, hence two files.
pub(crate) struct Library {
    pub(crate) package: &'static str,
    pub(crate) target: &'static str,
    pub(crate) names: &'static [&'static str],
}

/// All soft libraries, one row each.
pub(crate) const LIBRARIES: &[Library] = &[
    Library {
        package: "soft-cuda",
        target: "soft_cuda",
        names: &["libcuda.so.1", "libcuda.so"],
    },
    Library {
        package: "soft-nvml",
        target: "soft_nvml",
        names: &["libnvidia-ml.so.1"],
    },
    Library {
        package: "soft-nccl",
        target: "soft_nccl",
        names: &["libnccl.so.2", "libnccl.so"],
    },
    Library {
        package: "soft-rccl",
        target: "soft_rccl",
        names: &["librccl.so.1", "librccl.so"],
    },
    Library {
        package: "soft-mccl",
        target: "soft_mccl",
        names: &["libmccl.so"],
    },
    Library {
        package: "soft-runtime",
        target: "soft_runtime",
        names: &["libamdhip64.so.7", "libamdhip64.so"],
    },
    Library {
        package: "soft-runtime",
        target: "soft_runtime",
        names: &["libmcruntime.so"],
    },
];

/// Builds all soft libraries, installs them in `target/soft` and returns that folder.
pub(crate) fn install(release: bool) -> Result<PathBuf> {
    install_all("soft", LIBRARIES, release)
}

/// Builds libraries and puts them into a folder of the target folder, which it returns.
pub(crate) fn install_all(name: &str, libraries: &[Library], release: bool) -> Result<PathBuf> {
    let folder = cargo::target_directory()?.join(name);
    install_into(&folder, libraries, release)?;
    Ok(folder)
}

/// Builds libraries and puts them into a folder, which is made where it is not there.
pub(crate) fn install_into(folder: &Path, libraries: &[Library], release: bool) -> Result<()> {
    fs::create_dir_all(folder).with_context(|| format!("{} cannot be made", folder.display()))?;
    for library in libraries {
        let file = cargo::build(library.package, library.target, release)?;
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

/// Makes beside the place and renames, so that a program that runs meanwhile sees the old file or the new one.
fn replace(to: &Path, make: impl FnOnce(&Path) -> io::Result<()>) -> Result<()> {
    let mut new = to.as_os_str().to_owned();
    new.push(format!(".new-{}", std::process::id()));
    let new = PathBuf::from(new);
    make(&new).with_context(|| format!("{} cannot be made", new.display()))?;
    fs::rename(&new, to).with_context(|| format!("{} cannot be replaced", to.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_replaced_whole_and_leaves_nothing_beside_it() {
        let folder = std::env::temp_dir().join(format!("xtask-soft-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("built"), "new").unwrap();
        fs::write(folder.join("lib.so.1"), "older and longer").unwrap();
        let copy = |new: &Path| fs::copy(folder.join("built"), new).map(drop);
        replace(&folder.join("lib.so.1"), copy).unwrap();
        assert_eq!(fs::read_to_string(folder.join("lib.so.1")).unwrap(), "new");
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 2);
        fs::remove_dir_all(&folder).unwrap();
    }
}
