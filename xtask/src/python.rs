//! Virtual environments of Python below the target folder, with wheels that are installed by name and version.
//!
//! pip takes them from the registry that it is set up with, once for each list of wheels. What is done with them stands elsewhere.

use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::cargo;

/// The folder of an environment with these wheels, which is made where it is not there yet.
///
/// # Errors
/// There is no python3 with venv, or no registry that has the wheels.
pub(crate) fn environment(out: &mut impl Write, wheels: &[&str]) -> Result<PathBuf> {
    let name = wheels.join("-").replace("==", "-");
    let folder = cargo::target_directory()?.join(format!("python-{name}"));
    let made = folder.join("made");
    if !made.exists() {
        let wheels_named = wheels.join(" ");
        writeln!(out, "installing {wheels_named} into {}", folder.display())?;
        let mut venv = Command::new("python3");
        done(venv.args(["-m", "venv"]).arg(&folder)).context("python3 -m venv")?;
        let mut pip = Command::new(folder.join("bin/python"));
        pip.args(["-m", "pip", "install", "--quiet"]);
        pip.arg("--disable-pip-version-check").args(wheels);
        done(&mut pip).with_context(|| format!("pip install {wheels_named}"))?;
        fs::write(made, "")?;
    }
    Ok(folder)
}

/// Runs a command with its output kept; fails with the last line of it.
pub(crate) fn done(command: &mut Command) -> Result<()> {
    let output = command.stdin(Stdio::null()).output();
    let output = output.context("it did not start")?;
    if output.status.success() {
        return Ok(());
    }
    let text = String::from_utf8_lossy(&output.stderr);
    let last = text.lines().rfind(|line| !line.trim().is_empty());
    bail!("{}", last.unwrap_or("no reason given"))
}
