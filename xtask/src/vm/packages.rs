//! [`Tree`]: QEMU, a kernel and tools from Debian, unpacked below the target folder and never installed.
//!
//! apt resolves the packages by name as for a machine that has none, so that the tree runs on its own loader and libraries
//! and nothing on this machine is added, displaced or needed. It is made once and kept until this machine is another system.

use std::ffi::OsString;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use super::allowance::Allowance;
use super::apt::Apt;
use crate::python::done;

/// What is asked for; versions are those of the machine's own package sources. The kernel's name leads to the newest one.
const PACKAGES: &[&str] = &[
    "bubblewrap",
    "busybox-static",
    "hwloc-nox",
    "libgcc-s1",
    "linux-image-cloud-amd64",
    "numactl",
    "pci.ids",
    "pciutils",
    "qemu-system-x86",
];
/// Holds what the tree was made of and for, and says that it is whole.
const STAMP: &str = "packages";
/// Folders of the tree that libraries are loaded from; where `lib` is a link, only the second exists.
const LIBRARIES: &[&str] = &[
    "lib/x86_64-linux-gnu",
    "usr/lib/x86_64-linux-gnu",
    "usr/lib/x86_64-linux-gnu/pulseaudio",
];
/// What tells one version of a system from another (os-release(5)); the first two are enough where there are numbers.
const RELEASE: &[&str] = &["ID=", "VERSION_ID=", "VERSION_CODENAME="];

/// The unpacked packages.
pub(super) struct Tree {
    root: PathBuf,
}

impl Tree {
    /// Finds the tree in a folder or makes it; says why there is none where that cannot be done here.
    pub(super) fn make(
        out: &mut impl Write,
        folder: &Path,
        allowance: &mut Allowance,
    ) -> Result<Result<Tree, String>> {
        if let Some(reason) = unsuitable() {
            return Ok(Err(reason));
        }
        let tree = Tree {
            root: folder.join("tree"),
        };
        let wanted = wanted();
        if fs::read_to_string(tree.root.join(STAMP)).is_ok_and(|made| made == wanted) {
            return Ok(Ok(tree));
        }
        writeln!(out, "vm: packages from Debian: {}", PACKAGES.join(" "))?;
        let new = folder.join(format!("tree.new-{}", std::process::id()));
        let apt = Apt::new(folder.join("apt"))?;
        let unpacked = apt
            .download(PACKAGES, allowance)
            .and_then(|archives| unpack(&archives, &new));
        if let Err(reason) = unpacked {
            // There may be nothing yet.
            let _ = fs::remove_dir_all(&new);
            return Ok(Err(reason));
        }
        fs::write(new.join(STAMP), wanted)
            .with_context(|| format!("{} cannot be written", new.join(STAMP).display()))?;
        if tree.root.exists() {
            fs::remove_dir_all(&tree.root)
                .with_context(|| format!("{} cannot be removed", tree.root.display()))?;
        }
        fs::rename(&new, &tree.root)
            .with_context(|| format!("{} cannot be made", tree.root.display()))?;
        Ok(Ok(tree))
    }

    /// A file of the tree.
    pub(super) fn file(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }

    /// The dynamic loader.
    pub(super) fn loader(&self) -> Result<PathBuf> {
        LIBRARIES
            .iter()
            .map(|folder| self.file(folder).join("ld-linux-x86-64.so.2"))
            .find(|file| file.is_file())
            .context("Debian's tree has no dynamic loader")
    }

    /// Tells a call of the loader where the libraries are.
    pub(super) fn loaded(&self, mut loader: Command) -> Command {
        let folders: Vec<OsString> = LIBRARIES
            .iter()
            .map(|folder| self.file(folder).into_os_string())
            .collect();
        loader.arg("--library-path").arg(folders.join(":".as_ref()));
        loader
    }

    /// The kernel's image, whose name has the version in it.
    pub(super) fn kernel(&self) -> Result<PathBuf> {
        let boot = self.file("boot");
        fs::read_dir(&boot)
            .with_context(|| format!("{} cannot be read", boot.display()))?
            .filter_map(|entry| Some(entry.ok()?.path()))
            .find(|file| {
                file.file_name()
                    .is_some_and(|name| name.to_string_lossy().starts_with("vmlinuz-"))
            })
            .with_context(|| format!("{} has no kernel", boot.display()))
    }
}

/// Why this machine cannot make or use the tree at all.
fn unsuitable() -> Option<String> {
    if !cfg!(target_arch = "x86_64") {
        return Some("the emulated machines are x86_64 and run this machine's build".to_owned());
    }
    ["apt-get", "apt-config", "dpkg", "timeout"]
        .into_iter()
        .find_map(|name| {
            let reason = done(Command::new(name).arg("--version")).err()?;
            Some(format!(
                "{name}: {reason}: the packages come from Debian by apt"
            ))
        })
}

/// Unpacks everything into a new folder, but for the kernel's modules, which no guest loads.
fn unpack(archives: &[PathBuf], to: &Path) -> Result<(), String> {
    fs::create_dir_all(to).map_err(|error| format!("{}: {error}", to.display()))?;
    for archive in archives {
        done(Command::new("dpkg").arg("--extract").arg(archive).arg(to))
            .map_err(|reason| format!("dpkg: {}: {reason}", archive.display()))?;
    }
    for modules in ["lib/modules", "usr/lib/modules"] {
        // Only one of the two is there.
        let _ = fs::remove_dir_all(to.join(modules));
    }
    Ok(())
}

/// What a tree must have been made of and for to be used here.
fn wanted() -> String {
    let release = fs::read_to_string("/etc/os-release");
    let libc = Command::new("getconf").arg("GNU_LIBC_VERSION").output();
    let libc = libc.ok().filter(|output| output.status.success());
    stamp(
        release.ok().as_deref(),
        libc.map(|output| String::from_utf8_lossy(&output.stdout).into_owned())
            .as_deref(),
    )
}

/// The packages, this machine's system and its C library.
///
/// The program that is compared is built here, so it may ask for what this machine's C library has, and in the guest it runs on
/// the tree's: a tree of an older system would not do.
fn stamp(release: Option<&str>, libc: Option<&str>) -> String {
    let release = release.unwrap_or_default().lines();
    PACKAGES
        .iter()
        .copied()
        .chain(release.filter(|line| RELEASE.iter().any(|key| line.starts_with(key))))
        .chain([libc.unwrap_or("no glibc").trim()])
        .map(|line| format!("{line}\n"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_of_another_system_or_c_library_is_not_used() {
        let bookworm =
            "PRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\nID=debian\nVERSION_ID=\"12\"\n";
        let made = stamp(Some(bookworm), Some("glibc 2.36\n"));
        assert!(
            made.ends_with("\nID=debian\nVERSION_ID=\"12\"\nglibc 2.36\n"),
            "{made}"
        );
        let renamed = bookworm.replace("PRETTY_NAME=\"Debian", "PRETTY_NAME=\"My Debian");
        assert_eq!(made, stamp(Some(&renamed), Some("glibc 2.36\n")));
        let trixie = bookworm.replace("=\"12\"", "=\"13\"");
        for (release, libc) in [
            (Some(trixie.as_str()), Some("glibc 2.36\n")),
            (Some(bookworm), Some("glibc 2.41\n")),
            (Some(bookworm), None),
            (None, Some("glibc 2.36\n")),
        ] {
            assert_ne!(made, stamp(release, libc), "{release:?} {libc:?}");
        }
    }
}
