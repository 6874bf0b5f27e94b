//! `SHA256SUMS` over every file of a folder, as sha256sum(1) checks it.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use sha2::{Digest, Sha256};

/// Name of the file with the sums.
const SUMS: &str = "SHA256SUMS";

/// Writes the sums of all files below the folder, links left out.
pub(super) fn write(root: &Path) -> Result<()> {
    let mut files = Vec::new();
    collect(root, &mut files)?;
    files.sort();
    let mut text = String::new();
    for file in files {
        let name = file
            .strip_prefix(root)
            .unwrap_or(&file)
            .display()
            .to_string();
        text.push_str(&format!("{}  {name}\n", sum(&file)?));
    }
    let sums = root.join(SUMS);
    fs::write(&sums, text).with_context(|| format!("{} cannot be written", sums.display()))
}

/// sha256 of a file, hex.
pub(super) fn sum(file: &Path) -> Result<String> {
    let bytes = fs::read(file).with_context(|| format!("{} cannot be read", file.display()))?;
    let digest = Sha256::digest(&bytes);
    Ok(digest.iter().map(|byte| format!("{byte:02x}")).collect())
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    for entry in
        fs::read_dir(folder).with_context(|| format!("{} cannot be listed", folder.display()))?
    {
        let entry = entry?;
        let kind = entry.file_type()?;
        if kind.is_dir() {
            collect(&entry.path(), files)?;
        } else if kind.is_file() && entry.file_name() != SUMS {
            files.push(entry.path());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn the_sums_are_those_of_sha256sum() {
        let folder = std::env::temp_dir().join(format!("xtask-sums-{}", std::process::id()));
        fs::create_dir_all(folder.join("bin")).unwrap();
        fs::write(folder.join("bin/one"), "abc").unwrap();
        fs::write(folder.join("two words"), "").unwrap();
        write(&folder).unwrap();
        // FIPS 180-2, appendix B.1: the sum of "abc".
        let sums = fs::read_to_string(folder.join(SUMS)).unwrap();
        assert!(
            sums.starts_with(
                "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad  bin/one\n"
            ),
            "{sums}"
        );
        let checked = Command::new("sha256sum")
            .args(["--check", "--strict", "--quiet", SUMS])
            .current_dir(&folder)
            .status();
        if let Ok(checked) = checked {
            assert!(checked.success());
        }
        fs::remove_dir_all(&folder).unwrap();
    }
}
