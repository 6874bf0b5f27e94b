//! `cargo xtask dist`: an archive and a Python wheel for machines without Rust: the program, simulated libraries, shims, machine files,
//! profiles, recipes, pages with the files that they name, completions, licences and checksums.
//!
//! Built for an old glibc by cargo-zigbuild, with the zig that PyPI has. It signs nothing and uploads nothing.

mod build;
mod licences;
mod stage;
mod wheel;

use std::ffi::OsString;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};

use crate::cargo;
use build::{TARGETS, Tools};

/// Bytes of an archive at most.
const MOST: u64 = 15_000_000;

/// What was asked for.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Options {
    /// Where everything goes; without it, `dist` in the target folder.
    out: Option<PathBuf>,
}

impl Options {
    /// Reads the arguments; `None` where they are not understood.
    pub(crate) fn parse(arguments: &[OsString]) -> Option<Self> {
        match arguments {
            [] => Some(Self::default()),
            [flag, folder] if flag == "--out" => Some(Self {
                out: Some(PathBuf::from(folder)),
            }),
            _ => None,
        }
    }
}

/// Makes archive and wheel for each target whose libraries are installed, and says where they are and what was not built.
pub(crate) fn run(out: &mut impl Write, options: &Options) -> Result<()> {
    let metadata = cargo::metadata(&["--locked", "--filter-platform", &cargo::host()?])?;
    // The version of the workspace is that of each package.
    let version = env!("CARGO_PKG_VERSION");
    let folder = match &options.out {
        Some(folder) => folder.clone(),
        None => cargo::target_directory()?.join("dist"),
    };
    fs::create_dir_all(&folder).with_context(|| format!("{} cannot be made", folder.display()))?;
    let tools = Tools::install()?;
    for target in TARGETS {
        if !target.is_installed()? {
            let name = target.name;
            writeln!(out, "{name}: not built, `rustup target add {name}` first")?;
            continue;
        }
        let name = format!("tplens-{version}-{}", target.name);
        let root = folder.join(&name);
        if root.exists() {
            fs::remove_dir_all(&root)
                .with_context(|| format!("{} cannot be replaced", root.display()))?;
        }
        tools.build(target, &root)?;
        stage::files(&root, target.name)?;
        licences::write(&root, &metadata, target.name)?;
        stage::sums(&root)?;
        let archive = pack(&folder, &name)?;
        let wheel = wheel::make(&folder, &root, version, target, &tools)?;
        for file in [archive, wheel] {
            let bytes = file.metadata()?.len();
            ensure!(bytes <= MOST, "{} has {bytes} bytes", file.display());
            let megabytes = bytes as f64 / 1e6;
            writeln!(out, "{}: {megabytes:.1} MB", file.display())?;
        }
    }
    Ok(())
}

/// The folder as one file. The same files give the same bytes: names are sorted, owners and times fixed.
fn pack(folder: &Path, name: &str) -> Result<PathBuf> {
    let path = folder.join(format!("{name}.tar.gz"));
    let mut tar = Command::new("tar");
    tar.args(["--sort=name", "--owner=0", "--group=0", "--numeric-owner"])
        .args(["--mtime=@0", "--use-compress-program=gzip -9 -n"])
        .args(["--create", "--file"])
        .arg(&path)
        .arg("--directory")
        .args([folder.as_os_str(), name.as_ref()]);
    done(&mut tar)?;
    Ok(path)
}

/// Runs a command whose messages are for people.
fn done(command: &mut Command) -> Result<()> {
    let program = command.get_program().to_owned();
    let ended = command
        .stdin(Stdio::null())
        .stdout(std::io::stderr())
        .status()
        .with_context(|| format!("{} did not start", program.display()))?;
    if !ended.success() {
        bail!("{} failed ({ended})", program.display());
    }
    Ok(())
}
