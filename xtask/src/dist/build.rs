//! What is built, for which machines, and with what.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, anyhow};

use crate::cargo::{self, Built};
use crate::{programs, python, soft};

/// The oldest glibc that everything runs on: that of RHEL 8 and Debian 10.
pub(super) const GLIBC: &str = "2.28";

/// What PyPI has for that: zig, which links for any glibc, cargo's subcommand that calls it, and the packer of wheels.
const WHEELS: [&str; 3] = ["ziglang==0.17.1", "cargo-zigbuild==0.24.0", "wheel==0.48.0"];

/// Names that programs had before they were one.
const OLD_NAMES: [&str; 4] = ["p2p-bw", "allreduce-bench", "serve-bench", "accept"];

/// A machine that archives are made for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Target {
    /// As Rust calls it.
    pub(super) name: &'static str,
    /// As wheels call it.
    pub(super) platform: &'static str,
}

pub(super) const TARGETS: [Target; 2] = [
    Target {
        name: "x86_64-unknown-linux-gnu",
        platform: "manylinux_2_28_x86_64",
    },
    Target {
        name: "aarch64-unknown-linux-gnu",
        platform: "manylinux_2_28_aarch64",
    },
];

impl Target {
    /// Whether Rust's libraries for it are here.
    pub(super) fn is_installed(self) -> Result<bool> {
        let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
        let output = Command::new(rustc)
            .args(["--print", "target-libdir", "--target", self.name])
            .output()
            .context("rustc did not start")?;
        let folder = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        Ok(Path::new(&folder).is_dir())
    }
}

/// The tools, in a Python environment below the target folder.
pub(super) struct Tools {
    pub(super) python: PathBuf,
    path: OsString,
}

impl Tools {
    /// Installs them where they are not there yet.
    pub(super) fn install() -> Result<Self> {
        let name = WHEELS.join("-").replace("==", "-");
        let folder = cargo::target_directory()?.join(format!("python-{name}"));
        let (bin, made) = (folder.join("bin"), folder.join("made"));
        if !made.exists() {
            python::environment(&folder, &WHEELS).map_err(|reason| anyhow!(reason))?;
            fs::write(&made, "")?;
        }
        let before = std::env::var_os("PATH").unwrap_or_default();
        let paths = [bin.clone()]
            .into_iter()
            .chain(std::env::split_paths(&before));
        Ok(Self {
            python: bin.join("python"),
            path: std::env::join_paths(paths)?,
        })
    }

    /// Builds the program with its old names, the simulated libraries and the shims into the folder.
    pub(super) fn build(&self, target: Target, root: &Path) -> Result<()> {
        let folders = [soft::SOFT, soft::SHIM];
        let mut packages = vec![programs::PACKAGE];
        packages.extend(soft::packages(&folders));
        let target = format!("{}.{GLIBC}", target.name);
        let built = Built::by_zig(&packages, &target, &self.path)?;
        let bin = root.join("bin");
        fs::create_dir_all(&bin).with_context(|| format!("{} cannot be made", bin.display()))?;
        fs::copy(built.file(programs::PACKAGE)?, bin.join(programs::PACKAGE))?;
        for old in OLD_NAMES {
            std::os::unix::fs::symlink(programs::PACKAGE, bin.join(old))?;
        }
        soft::place(&built, root, &folders)
    }
}
