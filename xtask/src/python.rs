//! Virtual environments of Python below the target folder, with wheels that are installed by name and version.
//!
//! pip takes them from the registry that it is set up with, once for each folder. What is done with them stands elsewhere.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::Context;

/// Makes an environment with these wheels; its Python, or why there is none.
pub(crate) fn environment(folder: &Path, wheels: &[&str]) -> Result<PathBuf, String> {
    let python = folder.join("bin/python");
    let mut venv = Command::new("python3");
    venv.args(["-m", "venv"]).arg(folder);
    let mut pip = Command::new(&python);
    pip.args([
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
    ]);
    pip.args(wheels);
    for (what, command) in [("python3 -m venv", &mut venv), ("pip install", &mut pip)] {
        done(command).map_err(|reason| format!("{what} {}: {reason}", wheels.join(" ")))?;
    }
    Ok(python)
}

/// Runs a command with its output kept; why it did not do what it should.
pub(crate) fn done(command: &mut Command) -> Result<(), String> {
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
