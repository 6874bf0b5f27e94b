//! Virtual environments of Python below the target folder, with wheels that are installed by name and version.
//!
//! pip takes them from the registry that it is set up with, once for each list of wheels. What is done with them stands elsewhere.

use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::cargo;

/// Succeeds where every file of the wheels that are given is there.
const WHOLE: &str = "import sys\n\
                     from importlib.metadata import files\n\
                     there = [file.locate().exists() for wheel in sys.argv[1:] for file in files(wheel.split('==')[0])]\n\
                     sys.exit(not all(there))";

/// The folder of an environment with these wheels, which is made anew where one is not there or its Python does not start.
///
/// # Errors
/// There is no python3 with venv, or no registry that has the wheels.
pub(crate) fn environment(out: &mut impl Write, wheels: &[&str]) -> Result<PathBuf> {
    let name = wheels.join("-").replace("==", "-");
    let folder = cargo::target_directory()?.join(format!("python-{name}"));
    let python = || Command::new(folder.join("bin/python"));
    let whole = || done(python().args(["-c", WHOLE]).args(wheels));
    if whole().is_err() {
        let wheels_named = wheels.join(" ");
        writeln!(out, "installing {wheels_named} into {}", folder.display())?;
        let mut venv = Command::new("python3");
        done(venv.args(["-m", "venv", "--clear"]).arg(&folder)).context("python3 -m venv")?;
        let mut pip = python();
        pip.args(["-m", "pip", "install", "--quiet"]);
        pip.arg("--disable-pip-version-check").args(wheels);
        done(&mut pip).with_context(|| format!("pip install {wheels_named}"))?;
        whole()?;
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn an_environment_lacks_a_wheel_where_one_of_its_files_is_gone() {
        let folder = std::env::temp_dir().join(format!("xtask-python-{}", std::process::id()));
        let facts = folder.join("one-1.0.dist-info");
        fs::create_dir_all(&facts).unwrap();
        fs::write(facts.join("METADATA"), "Name: one\nVersion: 1.0\n").unwrap();
        fs::write(facts.join("RECORD"), "one.py,,\n").unwrap();
        fs::write(folder.join("one.py"), "").unwrap();
        let is_whole = |wheel: &str| {
            let mut python = Command::new("python3");
            python.env("PYTHONPATH", &folder);
            done(python.args(["-c", WHOLE, wheel])).is_ok()
        };
        assert!(is_whole("one==1.0"));
        assert!(!is_whole("another==1.0"));
        fs::remove_file(folder.join("one.py")).unwrap();
        assert!(!is_whole("one==1.0"));
        fs::remove_dir_all(&folder).unwrap();
    }
}
