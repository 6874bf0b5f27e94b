//! The library that the shim stands before, and finding it.

use crate::driver::{CUDA, HIP, Table};
use crate::loader::Handle;
use std::env;
use std::path::PathBuf;
use std::sync::OnceLock;

/// A library of collectives that a shim stands before.
#[derive(Debug)]
pub struct Library {
    /// Names for the loader to find, in this order.
    files: &'static [&'static str],
    /// The driver whose streams it works on.
    pub(crate) driver: &'static Table,
}

/// NVIDIA's.
pub static NCCL: Library = Library {
    files: &["libnccl.so.2", "libnccl.so"],
    driver: &CUDA,
};

/// AMD's, whose functions have NVIDIA's names.
pub static RCCL: Library = Library {
    files: &["librccl.so.1", "librccl.so"],
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
        // Further down the loader's path and in the usual folders, where the shim has the name that it finds.
        let on_path = env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
        let folders = env::split_paths(&on_path).chain(USUAL.iter().map(PathBuf::from));
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
