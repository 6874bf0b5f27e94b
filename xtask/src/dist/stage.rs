//! The folder that is packed: what is built, what is copied, and what the built programs say of themselves.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::cargo::{self, Built};
use crate::soft;

/// Shells for which completions are written, and the file that each looks for.
const SHELLS: &[(&str, &str, &str)] = &[("bash", "", ""), ("zsh", "_", ""), ("fish", "", ".fish")];

/// Folders and files of the repository that go along: from where to where, and which files of a folder.
const COPIED: &[(&str, &str, &[&str])] = &[
    ("boxes", "boxes", &["toml"]),
    ("accept/profiles", "profiles", &["toml"]),
    (
        "accept/recipes",
        "recipes",
        &["md", "sh", "sbatch", "yml", "yaml"],
    ),
    ("docs", "docs", &["md"]),
    ("accept/report.schema.json", "report.schema.json", &[]),
    ("README.md", "README.md", &[]),
    ("CHANGELOG.md", "CHANGELOG.md", &[]),
    ("LICENSE-APACHE", "LICENSE-APACHE", &[]),
    ("LICENSE-MIT", "LICENSE-MIT", &[]),
];

/// Builds all programs, soft libraries and shims into the folder, and returns the programs' files.
pub(super) fn programs(root: &Path, packages: &[&str], release: bool) -> Result<Vec<PathBuf>> {
    let folder = root.join("bin");
    fs::create_dir_all(&folder).with_context(|| format!("{} cannot be made", folder.display()))?;
    let folders = [soft::SOFT, soft::SHIM];
    let all: Vec<&str> = packages
        .iter()
        .copied()
        .chain(soft::packages(&folders))
        .collect();
    let built = Built::packages(&all, release)?;
    let mut files = Vec::new();
    for package in packages {
        let file = folder.join(package);
        copy(&built.file(package)?, &file)?;
        files.push(file);
    }
    soft::place(&built, root, &folders)?;
    for file in elf_files(root)? {
        strip(&file)?;
    }
    Ok(files)
}

/// Every built file below the folder; links are left out.
pub(super) fn elf_files(root: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for folder in ["bin", "soft", "shim"] {
        let folder = root.join(folder);
        for entry in fs::read_dir(&folder)
            .with_context(|| format!("{} cannot be listed", folder.display()))?
        {
            let entry = entry?;
            if entry.file_type()?.is_file() {
                files.push(entry.path());
            }
        }
    }
    files.sort();
    Ok(files)
}

/// Takes the debug sections out, which are most of a program's bytes.
fn strip(file: &Path) -> Result<()> {
    let ended = Command::new("strip")
        .arg("--strip-debug")
        .arg(file)
        .stdin(Stdio::null())
        .status();
    let ended = ended.context("strip did not start; install binutils")?;
    if !ended.success() {
        bail!("strip {} failed ({ended})", file.display());
    }
    Ok(())
}

/// Copies what goes along as it is. A row that is not in the repository is an error: it was renamed.
pub(super) fn files(root: &Path) -> Result<()> {
    let repository = cargo::root()?;
    for (from, to, ends) in COPIED {
        let (from, to) = (repository.join(from), root.join(to));
        if ends.is_empty() {
            copy(&from, &to)?;
            continue;
        }
        fs::create_dir_all(&to).with_context(|| format!("{} cannot be made", to.display()))?;
        let mut copied = 0;
        for entry in
            fs::read_dir(&from).with_context(|| format!("{} cannot be listed", from.display()))?
        {
            let path = entry?.path();
            let is_wanted = path
                .extension()
                .is_some_and(|end| ends.iter().any(|wanted| end == *wanted));
            if let (true, Some(name)) = (is_wanted && path.is_file(), path.file_name()) {
                copy(&path, &to.join(name))?;
                copied += 1;
            }
        }
        if copied == 0 {
            bail!("{} holds nothing to copy", from.display());
        }
    }
    Ok(())
}

/// Copies a file: readable by all, and by all to run where its owner could run it.
fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::copy(from, to)
        .with_context(|| format!("{} cannot be copied to {}", from.display(), to.display()))?;
    let may_run = fs::metadata(from)?.permissions().mode() & 0o100 != 0;
    let mode = if may_run { 0o755 } else { 0o644 };
    fs::set_permissions(to, fs::Permissions::from_mode(mode))
        .with_context(|| format!("{} cannot be given its mode", to.display()))
}

/// Has each program write its completions for each shell.
pub(super) fn completions(root: &Path, programs: &[PathBuf]) -> Result<()> {
    for (shell, before, after) in SHELLS {
        let folder = root.join("completions").join(shell);
        fs::create_dir_all(&folder)
            .with_context(|| format!("{} cannot be made", folder.display()))?;
        for program in programs {
            let text = said(program, &["completions", shell])?;
            let file = folder.join(format!("{before}{}{after}", name(program)));
            fs::write(&file, text)
                .with_context(|| format!("{} cannot be written", file.display()))?;
        }
    }
    Ok(())
}

/// Each program's name with the version that it says it has.
pub(super) fn versions(programs: &[PathBuf]) -> Result<Vec<(String, String)>> {
    let version = |program: &PathBuf| {
        let said = said(program, &["--version"])?;
        let version = said
            .split_whitespace()
            .last()
            .context("a program said no version")?;
        Ok((name(program), version.to_owned()))
    };
    programs.iter().map(version).collect()
}

/// What a program prints.
fn said(program: &Path, arguments: &[&str]) -> Result<String> {
    let output = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .output();
    let output = output.with_context(|| format!("{} did not start", program.display()))?;
    if !output.status.success() || output.stdout.is_empty() {
        bail!(
            "{} {} said nothing ({})",
            program.display(),
            arguments.join(" "),
            output.status
        );
    }
    String::from_utf8(output.stdout)
        .with_context(|| format!("{} printed no text", program.display()))
}

fn name(program: &Path) -> String {
    program
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned()
}

/// The packages whose code is in the archive.
pub(super) fn built_packages(programs: &[&'static str]) -> Vec<&'static str> {
    let libraries = soft::packages(&[soft::SOFT, soft::SHIM]);
    programs.iter().copied().chain(libraries).collect()
}
