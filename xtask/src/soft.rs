//! `cargo xtask soft`: builds the soft vendor libraries and puts them under the names that programs load.
//!
//! It does not run anything on them; `--sim` of a program does, and looks for them in `target/soft`.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::cargo;

/// A soft library: its package, its C library target, and the names it is installed under.
struct Library {
    package: &'static str,
    target: &'static str,
    names: &'static [&'static str],
}

/// All soft libraries, one row each.
const LIBRARIES: &[Library] = &[
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
];

/// Builds all soft libraries, installs them in `target/soft` and returns that folder.
pub(crate) fn install(release: bool) -> Result<PathBuf> {
    let folder = cargo::target_directory()?.join("soft");
    fs::create_dir_all(&folder).with_context(|| format!("{} cannot be made", folder.display()))?;
    for library in LIBRARIES {
        let file = cargo::build(library.package, library.target, release)?;
        for name in library.names {
            replace(&file, &folder.join(name))?;
        }
    }
    Ok(folder)
}

/// Copies beside the place and renames, so that a program that runs meanwhile sees the old file or the new one.
fn replace(from: &Path, to: &Path) -> Result<()> {
    let mut new = to.as_os_str().to_owned();
    new.push(format!(".new-{}", std::process::id()));
    let new = PathBuf::from(new);
    fs::copy(from, &new)
        .with_context(|| format!("{} cannot be copied to {}", from.display(), new.display()))?;
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
        replace(&folder.join("built"), &folder.join("lib.so.1")).unwrap();
        assert_eq!(fs::read_to_string(folder.join("lib.so.1")).unwrap(), "new");
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 2);
        fs::remove_dir_all(&folder).unwrap();
    }
}
