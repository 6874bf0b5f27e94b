//! `cargo xtask soft` and `cargo xtask shim`: build the simulated vendor libraries and the delay shims, and put them under the
//! names that programs load.
//!
//! It runs nothing on them; `--sim` of a program does, and looks for them in `target/soft`.

use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::Path;

use anyhow::{Context, Result};

use crate::cargo::{self, Built, PROGRAM};
use crate::files::make;

/// The folder of the target folder that holds the simulated vendor libraries.
pub(crate) const SOFT: &str = "soft";
/// The folder of the target folder that holds the delay shims, each under the name of the library that it stands before.
pub(crate) const SHIM: &str = "shim";

/// A library that is built here: its folder, its package, and the names it is installed under, of which the others are links to the first:
/// a program that loads two of them must get one library.
type Library = (&'static str, &'static str, &'static [&'static str]);

/// Names of AMD's runtime.
const HIP: &[&str] = &["libamdhip64.so.7", "libamdhip64.so"];

/// All of them. Two vendors' names of one package are two rows, hence two files.
const LIBRARIES: &[Library] = &[
    (SOFT, "soft-runtime", &["libcuda.so.1", "libcuda.so"]),
    (SOFT, "soft-nvml", &["libnvidia-ml.so.1"]),
    (SOFT, "soft-nccl", &["libnccl.so.2", "libnccl.so"]),
    (SOFT, "soft-rccl", &["librccl.so.1", "librccl.so"]),
    (SOFT, "soft-mccl", &["libmccl.so"]),
    (SOFT, "soft-runtime", HIP),
    (SOFT, "soft-runtime", &["libmcruntime.so"]),
    (SHIM, "shim-nccl", &["libnccl.so.2"]),
    (SHIM, "shim-rccl", &["librccl.so.1"]),
];

/// Builds the libraries of one folder, with more packages, and puts them into that folder of the target folder.
pub(crate) fn install(folder: &str, more: &[&str], release: bool) -> Result<Built> {
    let built = Built::packages(&[&packages(&[folder]), more].concat(), release)?;
    place(&built, &cargo::build_directory()?, &[folder])?;
    Ok(built)
}

/// The packages of the libraries of these folders; one that has two rows is named twice.
pub(crate) fn packages(folders: &[&str]) -> Vec<&'static str> {
    of(folders).map(|(_, package, _)| *package).collect()
}

/// The arguments by which cargo takes the program and the packages of all libraries.
pub(crate) fn all_packages() -> impl Iterator<Item = &'static str> {
    let packages = packages(&[SOFT, SHIM]).into_iter().chain([PROGRAM]);
    packages.flat_map(|package| ["--package", package])
}

/// Puts the libraries of these folders, which were built, into the folders below `root`.
pub(crate) fn place(built: &Built, root: &Path, folders: &[&str]) -> Result<()> {
    for (folder, package, names) in of(folders) {
        let folder = root.join(folder);
        make(&folder)?;
        let file = built.file(package)?;
        replace(&folder.join(names[0]), |new| fs::copy(&file, new).map(drop))?;
        for name in &names[1..] {
            replace(&folder.join(name), |new| symlink(names[0], new))?;
        }
    }
    Ok(())
}

fn of(folders: &[&str]) -> impl Iterator<Item = &'static Library> {
    let libraries = LIBRARIES.iter();
    libraries.filter(|(folder, ..)| folders.contains(folder))
}

/// Makes a file anew, so that a program that runs meanwhile keeps the old one.
fn replace(to: &Path, make: impl FnOnce(&Path) -> io::Result<()>) -> Result<()> {
    let mut new = to.as_os_str().to_owned();
    new.push(format!(".new-{}", std::process::id()));
    let made = make(Path::new(&new)).and_then(|()| fs::rename(&new, to));
    made.with_context(|| format!("{} cannot be made", to.display()))
}
