//! The real engine of the tests: llama.cpp's server from its Python wheel, in a virtual environment below the target folder.
//!
//! It installs by name from the registry that pip is set up with, once for each version. Without python3, venv or a registry the
//! tests that need it are skipped, which this step counts.

use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context, Result};

use crate::cargo;

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
    if has_engine(&python) {
        return Ok(Ok(python));
    }
    writeln!(out, "installing {WHEEL} into {}", folder.display())?;
    let mut venv = Command::new("python3");
    venv.args(["-m", "venv"]).arg(&folder);
    let mut pip = Command::new(&python);
    pip.args([
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        WHEEL,
    ]);
    for (what, command) in [("python3 -m venv", &mut venv), ("pip install", &mut pip)] {
        if let Err(reason) = done(command) {
            return Ok(Err(format!("{what} {WHEEL}: {reason}")));
        }
    }
    Ok(if has_engine(&python) {
        Ok(python)
    } else {
        Err(format!("{WHEEL} was installed and cannot be imported"))
    })
}

fn has_engine(python: &PathBuf) -> bool {
    let mut command = Command::new(python);
    command.args(["-c", "import xllamacpp"]);
    done(&mut command).is_ok()
}

/// Runs a command with its output kept; why it did not do what it should.
fn done(command: &mut Command) -> Result<(), String> {
    let output = command
        .stdin(Stdio::null())
        .output()
        .context("it did not start")
        .map_err(|error| format!("{error:#}"))?;
    if output.status.success() {
        return Ok(());
    }
    let text = String::from_utf8_lossy(&output.stderr);
    let last = text.lines().rfind(|line| !line.trim().is_empty());
    Err(last.unwrap_or("no reason given").to_owned())
}
