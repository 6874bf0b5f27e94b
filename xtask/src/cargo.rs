//! Calls of cargo and of other tools, always by argument array.
//!
//! What they print for people goes to standard error, so that a program's results stay alone on standard output.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

/// The package of the program, which is also the name of its binary.
pub(crate) const PROGRAM: &str = "tplens";

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

/// Runs a command whose messages are for people.
pub(crate) fn done(command: &mut Command) -> Result<()> {
    output(command.stdout(std::io::stderr())).map(drop)
}

/// Runs a command and returns what it prints as its result.
pub(crate) fn output(command: &mut Command) -> Result<String> {
    let program = command.get_program().display().to_string();
    let output = command.stdin(Stdio::null()).stderr(Stdio::inherit());
    let output = output.output();
    let output = output.with_context(|| format!("{program} did not start"))?;
    let status = output.status;
    ensure!(status.success(), "{program} failed ({status})");
    String::from_utf8(output.stdout).with_context(|| format!("{program} printed no text"))
}

/// Returns what cargo knows of the packages.
pub(crate) fn metadata(arguments: &[&str]) -> Result<Value> {
    let mut command = command(&["metadata", "--format-version", "1"])?;
    let text = output(command.args(arguments))?;
    serde_json::from_str(&text).context("cargo metadata printed no json")
}

/// The folder below the target folder that a build goes to where cargo is set up to build for a named target.
pub(crate) fn build_directory() -> Result<PathBuf> {
    let target = std::env::var_os("CARGO_BUILD_TARGET").unwrap_or_default();
    Ok(target_directory()?.join(target))
}

/// Returns cargo's target folder.
pub(crate) fn target_directory() -> Result<PathBuf> {
    let metadata = metadata(&["--no-deps"])?;
    let folder = metadata["target_directory"].as_str().map(PathBuf::from);
    folder.context("cargo metadata names no target folder")
}

/// The folder where a build put programs and libraries.
pub(crate) struct Built(PathBuf);

impl Built {
    /// Builds the packages in one call, which gives them the same features of what they share; in the development profile
    /// or in release.
    pub(crate) fn packages(packages: &[&str], release: bool) -> Result<Built> {
        let mut command = command(&["build"])?;
        let packages = packages.iter().flat_map(|package| ["--package", package]);
        command.args(packages).args(release.then_some("--release"));
        let profile = if release { "release" } else { "debug" };
        Built::by(&mut command, build_directory()?.join(profile))
    }

    /// Builds every program, library and test of the workspace in the profile of the tests.
    pub(crate) fn tests() -> Result<Built> {
        let mut command = command(&["build", "--workspace", "--lib", "--bins", "--tests"])?;
        Built::by(&mut command, build_directory()?.join("debug"))
    }

    /// Has a command build into a folder.
    pub(crate) fn by(command: &mut Command, folder: PathBuf) -> Result<Built> {
        done(command)?;
        Ok(Built(folder))
    }

    /// Finds the file of a package's program or C library.
    pub(crate) fn file(&self, package: &str) -> Result<PathBuf> {
        let file = self.0.join(match package {
            PROGRAM => PROGRAM.to_owned(),
            library => format!("lib{}.so", library.replace('-', "_")),
        });
        ensure!(file.is_file(), "{} was not built", file.display());
        Ok(file)
    }
}
