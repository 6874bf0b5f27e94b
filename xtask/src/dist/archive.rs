//! The folder as one file, and its checksum beside it. The same files give the same bytes: names are sorted, owners and times fixed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use super::manifest::About;
use super::sums;

/// Packs the folder of that name and returns the archive.
pub(super) fn pack(folder: &Path, about: &About) -> Result<PathBuf> {
    let name = about.archive_name();
    let file = format!("{name}.tar.gz");
    let path = folder.join(&file);
    let mut tar = Command::new("tar");
    tar.args([
        "--sort=name",
        "--owner=0",
        "--group=0",
        "--numeric-owner",
        "--format=gnu",
    ]);
    if let Some(seconds) = about.dated {
        tar.arg(format!("--mtime=@{seconds}"));
    }
    tar.args(["--gzip", "--create", "--file"])
        .arg(&path)
        .arg("--directory")
        .arg(folder)
        .arg(&name);
    let ended = tar
        .stdin(Stdio::null())
        .status()
        .context("tar did not start; install tar and gzip")?;
    if !ended.success() {
        bail!("tar {} failed ({ended})", path.display());
    }
    let sum = folder.join(format!("{file}.sha256"));
    fs::write(&sum, format!("{}  {file}\n", sums::sum(&path)?))
        .with_context(|| format!("{} cannot be written", sum.display()))?;
    Ok(path)
}
