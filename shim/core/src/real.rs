//! The library that the shim stands before, and finding it.

use crate::driver::{CUDA, HIP, Table};
use crate::loader::Handle;
use std::collections::BTreeSet;
use std::env;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// A library of collectives that a shim stands before.
#[derive(Debug)]
pub struct Library {
    /// Names for the loader to find, in this order.
    files: &'static [&'static str],
    /// Its folder in Python's packages.
    package: &'static str,
    /// The driver whose streams it works on.
    pub(crate) driver: &'static Table,
}

/// NVIDIA's.
pub static NCCL: Library = Library {
    files: &["libnccl.so.2", "libnccl.so"],
    package: "nvidia/nccl/lib",
    driver: &CUDA,
};

/// AMD's, whose functions have NVIDIA's names.
pub static RCCL: Library = Library {
    files: &["librccl.so.1", "librccl.so"],
    package: "torch/lib",
    driver: &HIP,
};

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
    /// Its file, or the name by which the loader found it.
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
        if let Some(named) = env::var_os(VARIABLE).filter(|value| !value.is_empty()) {
            let open = Self::of(library, &named.to_string_lossy());
            return open.map_err(|why| format!("{VARIABLE}: {why}"));
        }
        // Further down the loader's path, in the Python packages that this process uses and in the usual folders, where the shim has the
        // name that it finds.
        let on_path = env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
        let of_packages = site_packages(&maps).into_iter();
        let of_packages = of_packages.map(|folder| folder.join(library.package));
        let folders = env::split_paths(&on_path).chain(of_packages);
        let folders = folders.chain(USUAL.iter().map(PathBuf::from));
        let beyond =
            folders.flat_map(|folder| library.files.iter().map(move |file| folder.join(file)));
        let names = library.files.iter().map(PathBuf::from);
        let mut said = Vec::new();
        for file in names.chain(beyond.filter(|file| file.is_file())) {
            match Self::of(library, &file.to_string_lossy()) {
                Ok(real) => return Ok(real),
                Err(why) => said.push(why),
            }
        }
        Err(format!(
            "no library to forward to ({}); set {VARIABLE} to its file",
            said.join("; ")
        ))
    }

    fn of(library: &'static Library, file: &str) -> Result<Self, String> {
        let handle = Handle::open(file)?;
        if handle.symbol(c"tplens_shim").is_some() {
            return Err(format!("{file} is a delay shim itself"));
        }
        if handle.symbol(c"ncclGetVersion").is_none() {
            return Err(format!("{file} has no ncclGetVersion"));
        }
        Ok(Self {
            library,
            handle,
            file: file.to_owned(),
        })
    }
}

/// The folders of Python's packages that files were mapped from (proc_pid_maps(5)).
fn site_packages(maps: &str) -> BTreeSet<PathBuf> {
    let lines = maps.lines();
    let files = lines.filter_map(|line| Some(&line[line.find('/')?..]));
    let folder = |file| {
        let mut above = Path::new(file).ancestors();
        above.find(|folder| folder.ends_with("site-packages"))
    };
    files.filter_map(folder).map(Path::to_owned).collect()
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
        assert_eq!(site_packages(maps), [packages].into());
    }
}
