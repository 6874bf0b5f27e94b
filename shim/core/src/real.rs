//! The library that the shim stands before, and finding it.

use crate::config::path;
use crate::loader::{Handle, file_of};
use crate::table::Library;
use std::env;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// The variable that names it.
const VARIABLE: &str = "TPLENS_DELAY_LIBRARY";
/// Where the loader looks by itself, which it does not where a shim is found first.
const USUAL: &[&str] = &[
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/usr/lib64",
    "/usr/lib",
    "/usr/local/lib",
    "/opt/rocm/lib",
    "/opt/maca/lib",
];

/// A loaded library that is no shim.
pub(crate) struct Real {
    pub(crate) library: &'static Library,
    pub(crate) handle: Handle,
    /// Its file.
    pub(crate) file: String,
}

impl Real {
    /// The library, which is loaded at the first call.
    pub(crate) fn get(library: &'static Library) -> Result<&'static Self, &'static str> {
        static REAL: OnceLock<Result<Real, String>> = OnceLock::new();
        let found = REAL.get_or_init(|| Self::find(library));
        found.as_ref().map_err(String::as_str)
    }

    fn find(library: &'static Library) -> Result<Self, String> {
        if let Some(named) = path(VARIABLE) {
            let file = named.to_string_lossy();
            let open = Handle::open(&file).and_then(|handle| Self::of(library, handle));
            return open.map_err(|why| format!("{VARIABLE} names {file}: {why}"));
        }
        let names = library.files.iter().map(PathBuf::from);
        let mut said = Vec::new();
        for file in names.chain(places(library)) {
            let file = file.to_string_lossy();
            match Handle::open(&file).and_then(|handle| Self::of(library, handle)) {
                Ok(real) => return Ok(real),
                Err(why) => said.push(why),
            }
        }
        Err(format!(
            "no library to forward to ({}); set {VARIABLE} to its file",
            said.join("; ")
        ))
    }

    fn of(library: &'static Library, handle: Handle) -> Result<Self, String> {
        let version = handle.symbol(library.version).ok_or_else(|| {
            let name = library.version.to_string_lossy();
            format!("it has no {name}")
        })?;
        let file = file_of(version).ok_or("the loader does not know its file")?;
        if handle.symbol(c"tplens_shim").is_some() {
            return Err(format!("{file} is a delay shim itself"));
        }
        Ok(Self {
            library,
            handle,
            file,
        })
    }
}

/// Files that the loader does not find by name, where the shim has that name: further down its path, in Python's packages that this
/// process uses, and in the usual folders.
fn places(library: &Library) -> Vec<PathBuf> {
    let on_path = env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
    let mut folders: Vec<PathBuf> = env::split_paths(&on_path).collect();
    // dladdr and the loader speak of files that are mapped here (proc_pid_maps(5): the path is the sixth field).
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
    for packages in site_packages(&maps) {
        folders.extend(library.packages.iter().map(|part| packages.join(part)));
    }
    folders.extend(USUAL.iter().map(PathBuf::from));
    let files = folders
        .iter()
        .flat_map(|folder| library.files.iter().map(|file| folder.join(file)));
    files.filter(|file| file.is_file()).collect()
}

/// The folders of Python's packages that files were mapped from, each once.
fn site_packages(maps: &str) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = Vec::new();
    for line in maps.lines() {
        let Some(at) = line.find('/') else {
            continue;
        };
        let file = Path::new(&line[at..]);
        let mut above = file.ancestors();
        let folder = above.find(|folder| folder.ends_with("site-packages"));
        if let Some(folder) = folder.filter(|folder| !found.iter().any(|known| known == folder)) {
            found.push(folder.to_owned());
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_of_packages_are_those_that_files_are_mapped_from() {
        let maps = "7f00-7f01 r-xp 00000000 fe:00 1 /env/lib/python3.12/site-packages/torch/lib/libtorch.so\n\
                    7f01-7f02 r--p 00000000 fe:00 2 /env/lib/python3.12/site-packages/numpy/core.so\n\
                    7f02-7f03 rw-p 00000000 00:00 0 [heap]\n\
                    7f03-7f04 r-xp 00000000 fe:00 3 /usr/lib/libc.so.6\n";
        let packages = PathBuf::from("/env/lib/python3.12/site-packages");
        assert_eq!(site_packages(maps), [packages]);
    }
}
