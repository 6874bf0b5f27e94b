//! Calls of cargo, always by argument array.
//!
//! What cargo prints for people goes to standard error, so that a program's results stay alone on standard output.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
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
    let output = command(&["metadata", "--no-deps", "--format-version", "1"])?
        .stderr(Stdio::inherit())
        .output()
        .context("cargo metadata did not start")?;
    let metadata: Value =
        serde_json::from_slice(&output.stdout).context("cargo metadata printed no json")?;
    let folder = metadata["target_directory"]
        .as_str()
        .context("cargo metadata names no target folder")?;
    Ok(PathBuf::from(folder))
}

/// Returns what cargo knows of all packages on this machine's target, in the versions of the lock file.
pub(crate) fn metadata() -> Result<Value> {
    let (_, target) = compiler()?;
    let output = command(&[
        "metadata",
        "--locked",
        "--format-version",
        "1",
        "--filter-platform",
        &target,
    ])?
    .stderr(Stdio::inherit())
    .output()
    .context("cargo metadata did not start")?;
    if !output.status.success() {
        bail!("cargo metadata failed ({})", output.status);
    }
    serde_json::from_slice(&output.stdout).context("cargo metadata printed no json")
}

/// Returns the compiler's version and the target that it builds for on this machine.
pub(crate) fn compiler() -> Result<(String, String)> {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(rustc)
        .arg("-vV")
        .output()
        .context("rustc did not start")?;
    let text = String::from_utf8(output.stdout).context("rustc -vV printed no text")?;
    let version = text.lines().next().context("rustc -vV printed nothing")?;
    let target = text.lines().find_map(|line| line.strip_prefix("host: "));
    Ok((
        version.to_owned(),
        target.context("rustc -vV names no host")?.to_owned(),
    ))
}

/// Builds a package and returns the file of its program or C library named `target`.
pub(crate) fn build(package: &str, target: &str, release: bool) -> Result<PathBuf> {
    let mut command = command(&[
        "build",
        "--package",
        package,
        "--message-format",
        "json-render-diagnostics",
    ])?;
    if release {
        command.arg("--release");
    }
    let output = command
        .stderr(Stdio::inherit())
        .output()
        .context("cargo build did not start")?;
    if !output.status.success() {
        bail!(
            "cargo build --package {package} failed ({}); its messages are above",
            output.status
        );
    }
    artifact(&String::from_utf8_lossy(&output.stdout), target).with_context(|| {
        format!("cargo build --package {package} made no program or c library {target}")
    })
}

/// Finds the file of a program or C library in cargo's messages (the Cargo Book, "External tools").
fn artifact(messages: &str, target: &str) -> Option<PathBuf> {
    let mut messages = messages
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let made = |message: &Value| {
        let kind = &message["target"]["kind"][0];
        message["reason"] == "compiler-artifact"
            && message["target"]["name"] == target
            && (kind == "bin" || kind == "cdylib")
    };
    let message = messages.rfind(made)?;
    message["executable"]
        .as_str()
        .or_else(|| message["filenames"][0].as_str())
        .map(PathBuf::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_is_found_among_cargos_messages() {
        let messages = concat!(
            "not json\n",
            r#"{"reason":"compiler-artifact","target":{"kind":["lib"],"name":"bench"},"filenames":["l.rlib"],"executable":null}"#,
            "\n",
            r#"{"reason":"compiler-artifact","target":{"kind":["bin"],"name":"bench"},"filenames":["b"],"executable":"b"}"#,
            "\n",
            r#"{"reason":"compiler-artifact","target":{"kind":["cdylib"],"name":"soft"},"filenames":["s.so"],"executable":null}"#,
            "\n",
            r#"{"reason":"build-finished","success":true}"#,
        );
        assert_eq!(artifact(messages, "bench"), Some(PathBuf::from("b")));
        assert_eq!(artifact(messages, "soft"), Some(PathBuf::from("s.so")));
        assert_eq!(artifact(messages, "other"), None);
    }
}
