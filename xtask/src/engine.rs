//! The real engine of the tests: llama.cpp's server from its Python wheel, in a virtual environment below the target folder.
//!
//! It installs by name from the registry that pip is set up with, once for each version. Without python3, venv or a registry the
//! tests that need it are skipped, which this step counts.

use std::io::Write;
use std::path::PathBuf;
use std::process::Command;

use anyhow::Result;

use crate::{cargo, python};

/// The wheel, at the version that the tests were written against.
const WHEEL: &str = "xllamacpp==2026.10.11549";

/// The variable that tells the tests which Python has it.
pub(crate) const PYTHON: &str = "TPLENS_LLAMA_PYTHON";

/// Installs the engine where it is not there yet; the file of its Python, or why there is none.
///
/// # Errors
/// The target folder is not known.
pub(crate) fn install(out: &mut impl Write) -> Result<Result<PathBuf, String>> {
    let folder = cargo::target_directory()?.join(format!("python-{}", WHEEL.replace("==", "-")));
    let python = folder.join("bin/python");
    if !has_engine(&python) {
        writeln!(out, "installing {WHEEL} into {}", folder.display())?;
        if let Err(reason) = python::environment(&folder, &[WHEEL]) {
            return Ok(Err(reason));
        }
    }
    Ok(match has_engine(&python) {
        true => Ok(python),
        false => Err(format!("{WHEEL} was installed and cannot be imported")),
    })
}

fn has_engine(python: &PathBuf) -> bool {
    let mut command = Command::new(python);
    command.args(["-c", "import xllamacpp"]);
    python::done(&mut command).is_ok()
}
