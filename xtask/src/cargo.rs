//! Calls of cargo, always by argument array.
//!
//! What cargo prints for people goes to standard error, so that a program's results stay alone on standard output.

use std::ffi::OsStr;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

/// Returns the root of the repository.
///
/// Fails where the program was not started by cargo, which tells the manifest's folder.
pub(crate) fn root() -> Result<PathBuf> {
    let manifest = std::env::var_os("CARGO_MANIFEST_DIR").context("start this as `cargo xtask`")?;
    let root = PathBuf::from(manifest).parent().map(PathBuf::from);
    root.context("the folder of xtask has no parent")
}

/// Makes a cargo command in the repository root.
pub(crate) fn command(arguments: &[&str]) -> Result<Command> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(arguments).current_dir(root()?);
    Ok(command)
}

/// Returns cargo's target folder.
pub(crate) fn target_directory() -> Result<PathBuf> {
    let metadata = metadata(&["--no-deps"])?;
    let folder = metadata["target_directory"].as_str();
    Ok(PathBuf::from(
        folder.context("cargo metadata names no target folder")?,
    ))
}

/// Returns what cargo knows of the packages.
pub(crate) fn metadata(arguments: &[&str]) -> Result<Value> {
    let output = command(&["metadata", "--format-version", "1"])?
        .args(arguments)
        .stderr(Stdio::inherit())
        .output()
        .context("cargo metadata did not start")?;
    ensure!(
        output.status.success(),
        "cargo metadata failed ({})",
        output.status
    );
    serde_json::from_slice(&output.stdout).context("cargo metadata printed no json")
}

/// Returns the target that the compiler builds for on this machine.
pub(crate) fn host() -> Result<String> {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(rustc).arg("-vV").output();
    let output = output.context("rustc did not start")?.stdout;
    let text = String::from_utf8(output).context("rustc -vV printed no text")?;
    let host = text.lines().find_map(|line| line.strip_prefix("host: "));
    Ok(host.context("rustc -vV names no host")?.to_owned())
}

/// What one call of cargo built: its messages (the Cargo Book, "External tools").
pub(crate) struct Built(String);

impl Built {
    /// Builds the packages in one call, which gives them the same features of what they share; in the development profile
    /// or in release.
    pub(crate) fn packages(packages: &[&str], release: bool) -> Result<Built> {
        let mut arguments = vec![];
        for package in packages {
            arguments.extend(["--package", package]);
        }
        if release {
            arguments.push("--release");
        }
        Built::with(&arguments)
    }

    /// Builds every program, library and test of the workspace in the profile of the tests.
    pub(crate) fn tests() -> Result<Built> {
        Built::with(&["--workspace", "--lib", "--bins", "--tests"])
    }

    /// Builds the packages in release for a target and a version of its C library, with cargo-zigbuild and zig in `path`.
    pub(crate) fn by_zig(packages: &[&str], target: &str, path: &OsStr) -> Result<Built> {
        let mut arguments = vec!["--profile", "dist", "--locked", "--target", target];
        for package in packages {
            arguments.extend(["--package", package]);
        }
        Built::from(command(&["zigbuild"])?.env("PATH", path), &arguments)
    }

    fn with(arguments: &[&str]) -> Result<Built> {
        Built::from(&mut command(&["build"])?, arguments)
    }

    fn from(command: &mut Command, arguments: &[&str]) -> Result<Built> {
        let output = command
            .args(["--message-format", "json-render-diagnostics"])
            .args(arguments)
            .stderr(Stdio::inherit())
            .output()
            .context("cargo build did not start")?;
        if !output.status.success() {
            bail!(
                "cargo build {} failed ({}); its messages are above",
                arguments.join(" "),
                output.status
            );
        }
        Ok(Built(String::from_utf8_lossy(&output.stdout).into_owned()))
    }

    /// Finds the file of a program or C library.
    pub(crate) fn file(&self, target: &str) -> Result<PathBuf> {
        let made = |message: &Value| {
            let kind = &message["target"]["kind"][0];
            message["reason"] == "compiler-artifact"
                && message["target"]["name"] == target
                && message["profile"]["test"] != true
                && (kind == "bin" || kind == "cdylib")
        };
        let lines = self.0.lines();
        let mut messages = lines.filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let message = messages.rfind(made);
        let message =
            message.with_context(|| format!("no program or C library {target} was built"))?;
        let files = message["filenames"].as_array();
        let mut names = files.into_iter().flatten().filter_map(Value::as_str);
        let library = names.find(|name| name.ends_with(".so"));
        let file = message["executable"].as_str().or(library);
        let file = file.with_context(|| format!("cargo names no file of {target}"))?;
        Ok(PathBuf::from(file))
    }
}
