//! Which glibc built files need.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use goblin::elf::Elf;

/// Every built file below the folder; links are left out.
pub(super) fn files(root: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for folder in ["bin", "soft", "shim"].map(|folder| root.join(folder)) {
        for entry in fs::read_dir(&folder)
            .with_context(|| format!("{} cannot be listed", folder.display()))?
        {
            let entry = entry?;
            if entry.file_type()?.is_file() {
                files.push(entry.path());
            }
        }
    }
    Ok(files)
}

/// The newest glibc that any of the built files asks for, as major and minor number.
pub(super) fn newest_glibc(root: &Path) -> Result<(u32, u32)> {
    let mut newest = (0, 0);
    for file in files(root)? {
        let bytes = fs::read(&file)?;
        let elf =
            Elf::parse(&bytes).with_context(|| format!("{} is no ELF file", file.display()))?;
        let needed = elf.verneed.iter().flat_map(|needed| needed.iter());
        let names = needed.flat_map(|library| {
            library
                .iter()
                .map(|version| version.vna_name)
                .collect::<Vec<_>>()
        });
        let names = names.filter_map(|name| elf.dynstrtab.get_at(name));
        newest = names.filter_map(version).fold(newest, Ord::max);
    }
    Ok(newest)
}

/// The numbers of `GLIBC_2.28`; `None` for versions of other libraries.
fn version(name: &str) -> Option<(u32, u32)> {
    let mut parts = name.strip_prefix("GLIBC_")?.split('.');
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_two_numbers() {
        assert_eq!(version("GLIBC_2.28"), Some((2, 28)));
        assert_eq!(version("GLIBC_2.2.5"), Some((2, 2)));
        assert_eq!(version("GCC_3.0"), None);
    }
}
