//! A Python wheel of the archive's folder: the program among an environment's programs, the rest in its `share/tplens`.
//!
//! maturin would build once more and carries no files beside the program, so the wheel is laid out here (PyPA, "Binary distribution
//! format") and packed by PyPI's `wheel`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use super::stage;
use crate::cargo;

/// Makes the wheel and returns its file.
pub(super) fn make(
    folder: &Path,
    root: &Path,
    version: &str,
    platform: &str,
    python: &Path,
) -> Result<PathBuf> {
    let laid_out = folder.join("wheel");
    if laid_out.exists() {
        fs::remove_dir_all(&laid_out)?;
    }
    let put = |to: PathBuf, text: &str| -> Result<()> {
        fs::create_dir_all(to.parent().unwrap_or(&to))?;
        fs::write(&to, text).with_context(|| format!("{} cannot be written", to.display()))
    };
    let about = laid_out.join(format!("tplens-{version}.dist-info"));
    let tag = format!("py3-none-{}", platform);
    put(
        about.join("WHEEL"),
        &format!("Wheel-Version: 1.0\nGenerator: xtask\nRoot-Is-Purelib: false\nTag: {tag}\n"),
    )?;
    put(
        about.join("METADATA"),
        &format!(
            "Metadata-Version: 2.1\nName: tplens\nVersion: {version}\nLicense: MIT OR Apache-2.0\n\
             Summary: Measures multi-GPU machines and explains what tensor parallelism loses\n"
        ),
    )?;
    let data = laid_out.join(format!("tplens-{version}.data"));
    for file in stage::below(root)? {
        let path = file.strip_prefix(root)?;
        let to = match path.strip_prefix("bin") {
            Ok(program) => data.join("scripts").join(program),
            Err(_) => data.join("data/share/tplens").join(path),
        };
        fs::create_dir_all(to.parent().unwrap_or(&to))?;
        fs::copy(&file, &to).with_context(|| format!("{} cannot be copied", file.display()))?;
    }
    let mut pack = Command::new(python.join("python"));
    pack.args(["-m", "wheel", "pack", "--dest-dir"]);
    cargo::done(pack.arg(folder).arg(&laid_out))?;
    fs::remove_dir_all(&laid_out)?;
    Ok(folder.join(format!("tplens-{version}-{tag}.whl")))
}
