//! `cargo xtask dist`: an archive for machines without Rust: the program, simulated libraries, shims, machine files,
//! profiles, recipes, pages with the files that they name, licences and checksums.
//!
//! Built for an old glibc by cargo-zigbuild, with the zig that PyPI has. It signs nothing and uploads nothing.

mod licences;
mod stage;

use std::fs;
use std::io::Write;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, ensure};

use crate::cargo::{self, Built, PROGRAM};
use crate::files::{empty, make};
use crate::{python, soft};

/// Bytes of an archive at most.
const MOST: u64 = 15_000_000;

/// The oldest glibc that everything runs on: that of RHEL 8 and Debian 10.
const GLIBC: &str = "2.28";

/// What PyPI has for that: zig, which links for any glibc, and cargo's subcommand that calls it.
const WHEELS: [&str; 2] = ["ziglang==0.17.1", "cargo-zigbuild==0.24.0"];

/// Names that programs had before they were one.
const OLD_NAMES: [&str; 4] = ["p2p-bw", "allreduce-bench", "serve-bench", "accept"];

/// The machines that archives are made for, as Rust calls them.
const TARGETS: [&str; 2] = ["x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu"];

/// Makes the archive for each target whose libraries are installed, and says where they are and what was not built.
pub(crate) fn run(out: &mut impl Write, folder: Option<PathBuf>) -> Result<()> {
    // The version of the workspace is that of each package.
    let version = env!("CARGO_PKG_VERSION");
    let usual = cargo::target_directory()?.join("dist");
    let folder = folder.unwrap_or(usual);
    let python = python::environment(out, &WHEELS)?.join("bin");
    for target in TARGETS {
        let mut rustc = Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()));
        rustc.args(["--print", "target-libdir", "--target", target]);
        if !Path::new(cargo::output(&mut rustc)?.trim()).is_dir() {
            let first = format!("`rustup target add {target}` first");
            writeln!(out, "{target}: not built, {first}")?;
            continue;
        }
        let name = format!("tplens-{version}-{target}");
        let root = folder.join(&name);
        empty(&root)?;
        build(target, &python, &root)?;
        stage::files(&root, target)?;
        licences::write(&root, target)?;
        stage::sums(&root)?;
        let archive = pack(&folder, &name)?;
        let bytes = archive.metadata()?.len();
        ensure!(bytes <= MOST, "{} has {bytes} bytes", archive.display());
        let megabytes = bytes as f64 / 1e6;
        writeln!(out, "{}: {megabytes:.1} MB", archive.display())?;
    }
    Ok(())
}

/// Builds the program with its old names, the simulated libraries and the shims into the folder.
fn build(target: &str, python: &Path, root: &Path) -> Result<()> {
    let mut command = cargo::command(&["zigbuild", "--profile", "dist", "--locked"])?;
    command.args(["--target", &format!("{target}.{GLIBC}")]);
    command.args(soft::all_packages());
    let before = std::env::var_os("PATH").unwrap_or_default();
    let paths = std::iter::once(python.to_owned()).chain(std::env::split_paths(&before));
    command.env("PATH", std::env::join_paths(paths)?);
    let folder = cargo::target_directory()?.join(target).join("dist");
    let built = Built::by(&mut command, folder)?;
    let bin = root.join("bin");
    make(&bin)?;
    fs::copy(built.file(PROGRAM)?, bin.join(PROGRAM))?;
    for old in OLD_NAMES {
        symlink(PROGRAM, bin.join(old))?;
    }
    soft::place(&built, root, &[soft::SOFT, soft::SHIM])
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
    cargo::done(&mut tar)?;
    Ok(path)
}
