//! [`Sysfs`]: the one place that reads files, under a root that can be any folder.
//!
//! Reads are bounded and a file that is missing or refused is `None`; what a file means is decided by the callers.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

/// The most that is read of one file. The first processor of `/proc/cpuinfo` and every attribute fit well.
const READ_LIMIT: u64 = 64 * 1024;

/// The folder that holds `sys` and `proc`: `/` on the machine itself, any other in a test or on a simulated machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sysfs {
    root: PathBuf,
}

impl Sysfs {
    /// The running machine.
    pub fn real() -> Self {
        Self::at("/")
    }

    /// A tree under `root`, which holds `sys` and, where there is one, `proc`.
    pub fn at(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// The root that was given.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The first 64 KiB of a file, such as `sys/devices/system/cpu/online`; `None` where it is missing or cannot be read, and where
    /// it is no regular file: to open a pipe waits for its other end, and a device may have no end.
    pub fn read_bytes(&self, path: impl AsRef<Path>) -> Option<Vec<u8>> {
        let path = self.join(path.as_ref());
        if !fs::metadata(&path).is_ok_and(|found| found.is_file()) {
            return None;
        }
        let file = File::open(path).ok()?;
        let mut bytes = Vec::new();
        file.take(READ_LIMIT).read_to_end(&mut bytes).ok()?;
        Some(bytes)
    }

    /// The first 64 KiB of a file as text without white space at its ends; `None` where it is missing or cannot be read.
    pub fn read_text(&self, path: impl AsRef<Path>) -> Option<String> {
        let bytes = self.read_bytes(path)?;
        Some(String::from_utf8_lossy(&bytes).trim().to_owned())
    }

    /// The names in a folder, sorted; none where it is missing.
    pub fn names(&self, path: impl AsRef<Path>) -> Vec<String> {
        let Ok(entries) = fs::read_dir(self.join(path.as_ref())) else {
            return Vec::new();
        };
        let mut names: Vec<String> = entries
            .flatten()
            .filter_map(|entry| entry.file_name().into_string().ok())
            .collect();
        names.sort();
        names
    }

    /// The last name of what a symbolic link points to, such as a function's driver; also where that is not there, as in a copy of
    /// some folders. `None` where there is no link.
    pub fn link_name(&self, path: impl AsRef<Path>) -> Option<String> {
        let target = fs::read_link(self.join(path.as_ref())).ok()?;
        target.file_name()?.to_str().map(str::to_owned)
    }

    /// The path with every symbolic link resolved, relative to the root; `None` where it is missing or leaves the root.
    pub fn canonical(&self, path: impl AsRef<Path>) -> Option<PathBuf> {
        let root = fs::canonicalize(&self.root).ok()?;
        let real = fs::canonicalize(self.join(path.as_ref())).ok()?;
        real.strip_prefix(&root).ok().map(Path::to_path_buf)
    }

    /// A leading `/` would replace the root, so it is taken as the root itself.
    fn join(&self, path: &Path) -> PathBuf {
        self.root.join(path.strip_prefix("/").unwrap_or(path))
    }
}
