//! Files and folders, with their names in what goes wrong.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

/// The text of a file.
pub(crate) fn read(file: &Path) -> Result<String> {
    fs::read_to_string(file).with_context(|| format!("{} cannot be read as text", file.display()))
}

/// Writes a file.
pub(crate) fn write(file: &Path, text: &str) -> Result<()> {
    fs::write(file, text).with_context(|| format!("{} cannot be written", file.display()))
}

/// Makes a folder empty.
pub(crate) fn empty(folder: &Path) -> Result<()> {
    if folder.exists() {
        let removed = fs::remove_dir_all(folder);
        removed.with_context(|| format!("{} cannot be replaced", folder.display()))?;
    }
    make(folder)
}

/// Makes a folder, and those above it, where it is not there yet.
pub(crate) fn make(folder: &Path) -> Result<()> {
    fs::create_dir_all(folder).with_context(|| format!("{} cannot be made", folder.display()))
}
