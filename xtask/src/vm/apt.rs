//! [`Apt`]: Debian's packages with all that they depend on, as for a machine that has none.
//!
//! It downloads and installs nothing. What was downloaded stays, whole or in part, so that after a slow network ran out of time
//! the next run goes on where this one ended.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use super::allowance::{self, Allowance};
use crate::python::done;

/// Where apt may have lists of packages already.
const LISTS: &str = "/var/lib/apt/lists";
/// What the machine's own settings do not decide. Recommended packages are for people. As root apt would hand its folder to
/// another user, who may not come here. Two runs at once take turns; the time that a call has ends the wait.
const SETTINGS: &str = r#"
Dir::Etc::main "/dev/null";
Dir::Etc::parts "/dev/null";
Dir::Cache::pkgcache "";
Dir::Cache::srcpkgcache "";
APT::Install-Recommends "false";
APT::Sandbox::User "root";
APT::Keep-Downloaded-Packages "true";
APT::Update::Error-Mode "any";
Acquire::Retries "2";
Acquire::http::Timeout "20";
Acquire::https::Timeout "20";
DPkg::Lock::Timeout "-1";
"#;

/// apt with a folder of its own for everything that it writes.
pub(super) struct Apt {
    folder: PathBuf,
}

impl Apt {
    /// Prepares the folder, which may have been used before.
    pub(super) fn new(folder: PathBuf) -> Result<Apt> {
        let apt = Apt { folder };
        for part in ["state/lists/partial", "cache/archives/partial"] {
            let part = apt.folder.join(part);
            fs::create_dir_all(&part)
                .with_context(|| format!("{} cannot be made", part.display()))?;
        }
        // A machine that has no package.
        for (name, text) in [("status", String::new()), ("config", apt.config()?)] {
            let file = apt.folder.join(name);
            let new = apt.folder.join(format!("{name}-{}", std::process::id()));
            // Another run may be reading: without its settings apt would write to the machine's own folders.
            fs::write(&new, text)
                .and_then(|()| fs::rename(&new, &file))
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
    ///
    /// Hands back their archives and no others that were downloaded before.
    pub(super) fn download(
        &self,
        packages: &[&str],
        allowance: &mut Allowance,
    ) -> Result<Vec<PathBuf>, String> {
        let mine = self.folder.join("state/lists");
        let with_lists = match self.get(packages, Path::new(LISTS), allowance) {
            Ok(archives) => return Ok(archives),
            Err(reason) => reason,
        };
        // One source of several may fail and the packages still be found, so the next call judges.
        let update = self.call(&mine, allowance, |apt| done(apt.arg("update")));
        self.get(packages, &mine, allowance).map_err(|reason| {
            if allowance.seconds() == 0 {
                return format!(
                    "{}; what was downloaded is kept in {}, and the next run goes on from there",
                    allowance::over(),
                    self.folder.display()
                );
            }
            format!(
                "apt-get: with the machine's lists: {with_lists}; with new lists: {}; \
                 see that the package sources are Debian's and can be reached",
                update.err().unwrap_or(reason)
            )
        })
    }

    fn get(
        &self,
        packages: &[&str],
        lists: &Path,
        allowance: &mut Allowance,
    ) -> Result<Vec<PathBuf>, String> {
        // With a folder of archives that is not there, all of them are named.
        let none = self.folder.join("none");
        let archives = self.call(lists, allowance, |apt| {
            apt.arg(format!("-oDir::Cache::archives={}", none.display()));
            apt.args(["--yes", "--print-uris", "install"])
                .args(packages);
            let output = apt.output().map_err(|error| error.to_string())?;
            match archives(&String::from_utf8_lossy(&output.stdout)) {
                // Run again for its reason.
                found if found.is_empty() || !output.status.success() => {
                    done(apt).and(Err("apt-get named no archive".to_owned()))
                }
                found => Ok(found),
            }
        })?;
        self.call(lists, allowance, |apt| {
            apt.args(["--yes", "--download-only", "install"]);
            done(apt.args(packages))
        })?;
        let folder = self.folder.join("cache/archives");
        Ok(archives.iter().map(|name| folder.join(name)).collect())
    }

    /// Makes one call of apt within the time that is left.
    fn call<T>(
        &self,
        lists: &Path,
        allowance: &mut Allowance,
        run: impl FnOnce(&mut Command) -> Result<T, String>,
    ) -> Result<T, String> {
        let limited = |seconds: u64| {
            let mut command = Command::new("timeout");
            // Its messages are kept as reasons.
            command
                .env("LC_ALL", "C")
                .env("APT_CONFIG", self.folder.join("config"))
                // In the foreground it stays in this process group, so that Ctrl-C ends apt too.
                .args(["--foreground", "--kill-after=5", &seconds.to_string()])
                .args(["apt-get", "--quiet=2", "-o"])
                .arg(format!("Dir::State::lists={}", lists.display()));
            run(&mut command)
        };
        let called = allowance.spend(u64::MAX, limited);
        called.unwrap_or_else(|| Err(allowance::over()))
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

/// Names of archives from `apt-get --print-uris`: `'http://...' NAME SIZE HASH`, the last of which may be missing.
fn archives(uris: &str) -> Vec<String> {
    uris.lines()
        .filter(|line| line.starts_with('\''))
        .filter_map(|line| line.split(' ').nth(1))
        .filter(|name| name.ends_with(".deb") && !name.contains('/'))
        .map(str::to_owned)
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

    #[test]
    fn archives_are_named_with_and_without_a_hash() {
        let uris = concat!(
            "Reading package lists...\n",
            "'http://mirror.example/debian/pool/main/z/zlib/zlib1g_1.2.13.dfsg-1_amd64.deb' ",
            "zlib1g_1%3a1.2.13.dfsg-1_amd64.deb 86684 MD5Sum:ec42cc09e926444a817ddd913057af67\n",
            "'http://mirror.example/security/pool/updates/main/x/xz-utils/liblzma5_5.4.1-1%2bdeb12u2_amd64.deb' ",
            "liblzma5_5.4.1-1+deb12u2_amd64.deb 205796 \n",
        );
        assert_eq!(
            archives(uris),
            [
                "zlib1g_1%3a1.2.13.dfsg-1_amd64.deb",
                "liblzma5_5.4.1-1+deb12u2_amd64.deb"
            ]
        );
    }

    #[test]
    fn without_time_no_call_is_made() {
        let apt = Apt {
            folder: PathBuf::from("/nonexistent"),
        };
        let called = apt.call(Path::new(LISTS), &mut Allowance::of(0), |_| Ok(()));
        assert_eq!(called, Err(allowance::over()));
    }
}
