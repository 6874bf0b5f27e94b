//! [`Tree`]: QEMU, a kernel and tools from Debian, unpacked below the target folder and never installed.
//!
//! apt resolves the packages by name as for a machine that has none, so that the tree runs on its own loader and libraries
//! and nothing on this machine is added, displaced or needed. It is made once and kept.

use std::ffi::OsString;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

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
/// Where apt may have lists of packages already.
const LISTS: &str = "/var/lib/apt/lists";
/// Holds the names that the tree was made of, and says that it is whole.
const STAMP: &str = "packages";
/// Folders of the tree that libraries are loaded from; where `lib` is a link, only the second exists.
const LIBRARIES: &[&str] = &[
    "lib/x86_64-linux-gnu",
    "usr/lib/x86_64-linux-gnu",
    "usr/lib/x86_64-linux-gnu/pulseaudio",
];
/// What the machine's own settings do not decide. Recommended packages are for people. As root apt would hand its folder to
/// another user, who may not come here.
const SETTINGS: &str = r#"
Dir::Etc::main "/dev/null";
Dir::Etc::parts "/dev/null";
APT::Install-Recommends "false";
APT::Sandbox::User "root";
APT::Keep-Downloaded-Packages "true";
APT::Update::Error-Mode "any";
Acquire::Retries "2";
Acquire::http::Timeout "20";
Acquire::https::Timeout "20";
Debug::NoLocking "true";
"#;
/// Seconds for one call of apt: a network that stalls is a reason to skip, not to hang.
const APT_SECONDS: &str = "120";

/// The unpacked packages.
pub(super) struct Tree {
    root: PathBuf,
}

impl Tree {
    /// Finds the tree in a folder or makes it; says why there is none where that cannot be done here.
    pub(super) fn make(out: &mut impl Write, folder: &Path) -> Result<Result<Tree, String>> {
        if let Some(reason) = unsuitable() {
            return Ok(Err(reason));
        }
        let tree = Tree {
            root: folder.join("tree"),
        };
        let wanted = PACKAGES.join("\n");
        if fs::read_to_string(tree.root.join(STAMP)).is_ok_and(|made| made == wanted) {
            return Ok(Ok(tree));
        }
        writeln!(out, "vm: packages from Debian: {}", PACKAGES.join(" "))?;
        let new = folder.join(format!("tree.new-{}", std::process::id()));
        let apt = Apt::new(folder.join(format!("apt-{}", std::process::id())))?;
        let unpacked = apt.download().and_then(|()| apt.unpack(&new));
        fs::remove_dir_all(&apt.folder)
            .with_context(|| format!("{} cannot be removed", apt.folder.display()))?;
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

/// apt with a folder of its own for everything that it writes.
struct Apt {
    folder: PathBuf,
}

impl Apt {
    fn new(folder: PathBuf) -> Result<Apt> {
        let apt = Apt { folder };
        for part in ["state/lists/partial", "cache/archives/partial"] {
            let part = apt.folder.join(part);
            fs::create_dir_all(&part)
                .with_context(|| format!("{} cannot be made", part.display()))?;
        }
        // A machine that has no package.
        for (name, text) in [("status", String::new()), ("config", apt.config()?)] {
            let file = apt.folder.join(name);
            fs::write(&file, text)
                .with_context(|| format!("{} cannot be written", file.display()))?;
        }
        Ok(apt)
    }

    /// The machine's way to its package sources, and none of its hooks, which would change the machine after a download.
    fn config(&self) -> Result<String> {
        let output = Command::new("apt-config")
            .arg("dump")
            .output()
            .context("apt-config did not start")?;
        let mut config = kept(&String::from_utf8_lossy(&output.stdout));
        for (key, path) in [
            ("Dir::State", self.folder.join("state")),
            ("Dir::State::status", self.folder.join("status")),
            ("Dir::Cache", self.folder.join("cache")),
        ] {
            config.push_str(&format!("{key} \"{}\";\n", path.display()));
        }
        config.push_str(SETTINGS);
        Ok(config)
    }

    /// Downloads the packages and all that they depend on: with the machine's lists, or with new ones where these are absent or
    /// name files that are gone.
    fn download(&self) -> Result<(), String> {
        let mine = self.folder.join("state/lists");
        let Err(with_lists) = self.get(Path::new(LISTS)) else {
            return Ok(());
        };
        // One source of several may fail and the packages still be found, so the next call judges.
        let update = done(self.apt(&mine).arg("update"));
        self.get(&mine).map_err(|reason| {
            format!(
                "apt-get, {APT_SECONDS} s a call: with the machine's lists: {with_lists}; with new lists: {}; \
                 see that the package sources are Debian's and can be reached",
                update.err().unwrap_or(reason)
            )
        })
    }

    fn get(&self, lists: &Path) -> Result<(), String> {
        let mut command = self.apt(lists);
        command.args(["--yes", "--download-only", "install"]);
        done(command.args(PACKAGES))
    }

    fn apt(&self, lists: &Path) -> Command {
        let mut command = Command::new("timeout");
        // Its messages are kept as reasons.
        command
            .env("LC_ALL", "C")
            .env("APT_CONFIG", self.folder.join("config"))
            .args([APT_SECONDS, "apt-get", "--quiet=2", "-o"])
            .arg(format!("Dir::State::lists={}", lists.display()));
        command
    }

    /// Unpacks everything into a new folder, but for the kernel's modules, which no guest loads.
    fn unpack(&self, to: &Path) -> Result<(), String> {
        fs::create_dir_all(to).map_err(|error| format!("{}: {error}", to.display()))?;
        let archives = self.folder.join("cache/archives");
        let entries =
            fs::read_dir(&archives).map_err(|error| format!("{}: {error}", archives.display()))?;
        for entry in entries {
            let package = entry.map_err(|error| error.to_string())?.path();
            if package
                .extension()
                .is_some_and(|extension| extension == "deb")
            {
                done(Command::new("dpkg").arg("--extract").arg(&package).arg(to))
                    .map_err(|reason| format!("dpkg: {}: {reason}", package.display()))?;
            }
        }
        for modules in ["lib/modules", "usr/lib/modules"] {
            // Only one of the two is there.
            let _ = fs::remove_dir_all(to.join(modules));
        }
        Ok(())
    }
}

/// Lines of `apt-config dump` that say where packages come from and how.
fn kept(dump: &str) -> String {
    const KEPT: &[&str] = &["Acquire::", "APT::Architecture", "Dir::Etc::"];
    const HOOKS: &[&str] = &["Dir::Etc::main ", "Dir::Etc::parts "];
    let begins = |line: &str, words: &[&str]| words.iter().any(|word| line.starts_with(word));
    dump.lines()
        .filter(|line| begins(line, KEPT) && !begins(line, HOOKS))
        .map(|line| format!("{line}\n"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn apts_proxy_and_sources_are_kept_and_its_hooks_are_not() {
        let dump = concat!(
            "Acquire::http::Proxy \"http://cache:3142\";\n",
            "APT::Update::Post-Invoke:: \"rm -f /var/cache/apt/archives/*.deb\";\n",
            "DPkg::Pre-Install-Pkgs:: \"/usr/sbin/dpkg-preconfigure --apt || true\";\n",
            "Dir::Etc::main \"apt.conf\";\n",
            "Dir::Etc::parts \"apt.conf.d\";\n",
            "Dir::Etc::sourceparts \"sources.list.d\";\n",
        );
        assert_eq!(
            kept(dump),
            "Acquire::http::Proxy \"http://cache:3142\";\nDir::Etc::sourceparts \"sources.list.d\";\n"
        );
    }
}
