//! What an archive is: `MANIFEST.json` for programs, `INSTALL.md` for people.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::elf::Needs;
use crate::cargo;

/// Where an archive comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct About {
    /// The version of the workspace.
    pub(super) version: String,
    /// What it was built for, such as `x86_64-unknown-linux-gnu`.
    pub(super) target: String,
    /// The compiler that built it.
    rustc: String,
    /// Whether the programs are built for use.
    release: bool,
    /// The commit; `None` where this is no checkout.
    commit: Option<String>,
    /// Whether files differ from the commit.
    changed: Option<bool>,
    /// Seconds since 1970 of the commit, or `SOURCE_DATE_EPOCH`; what files in the archive are dated.
    pub(super) dated: Option<u64>,
}

impl About {
    /// Asks cargo, rustc and git.
    pub(super) fn of(metadata: &Value, release: bool) -> Result<Self> {
        let package = metadata["packages"]
            .as_array()
            .into_iter()
            .flatten()
            .find(|package| package["name"] == "xtask");
        let version = package
            .and_then(|package| package["version"].as_str())
            .context("cargo metadata has no version of xtask")?;
        let (rustc, target) = cargo::compiler()?;
        let commit = git(&["rev-parse", "HEAD"]);
        let asked = std::env::var("SOURCE_DATE_EPOCH")
            .ok()
            .and_then(|seconds| seconds.parse().ok());
        Ok(Self {
            version: version.to_owned(),
            target,
            rustc,
            release,
            changed: commit
                .as_ref()
                .and_then(|_| git(&["status", "--porcelain"]))
                .map(|changes| !changes.is_empty()),
            commit,
            dated: asked.or_else(|| git(&["log", "-1", "--format=%ct"])?.parse().ok()),
        })
    }

    /// The name of the archive and of the folder in it.
    pub(super) fn archive_name(&self) -> String {
        let tried = if self.release { "" } else { "-dev" };
        format!("tplens-{}-{}{tried}", self.version, self.target)
    }
}

/// What git says; `None` where it says nothing, as outside a checkout.
fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git")
        .args(arguments)
        .current_dir(cargo::root().ok()?)
        .stderr(Stdio::null())
        .output()
        .ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}

/// Writes both files.
pub(super) fn write(
    root: &Path,
    about: &About,
    needs: &Needs,
    programs: &[(String, String)],
) -> Result<()> {
    let manifest = format!("{:#}\n", manifest(about, needs, programs));
    for (name, text) in [
        ("MANIFEST.json", manifest),
        ("INSTALL.md", install(about, needs)),
    ] {
        let path = root.join(name);
        fs::write(&path, text).with_context(|| format!("{} cannot be written", path.display()))?;
    }
    Ok(())
}

fn manifest(about: &About, needs: &Needs, programs: &[(String, String)]) -> Value {
    let programs: serde_json::Map<String, Value> = programs
        .iter()
        .map(|(name, version)| (name.clone(), Value::from(version.clone())))
        .collect();
    json!({
        "schema": 1,
        "name": "tplens",
        "version": about.version,
        "target": about.target,
        "release": about.release,
        "commit": about.commit,
        "changed_since_commit": about.changed,
        "rustc": about.rustc,
        "glibc_at_least": needs.glibc_text(),
        "libraries": needs.libraries,
        "page_bytes_at_most": needs.page_bytes,
        "programs": programs,
    })
}

fn install(about: &About, needs: &Needs) -> String {
    let libraries: Vec<&str> = needs.libraries.iter().map(String::as_str).collect();
    include_str!("INSTALL.md")
        .replace("{name}", &about.archive_name())
        .replace("{target}", &about.target)
        .replace("{needs}", &needs.words())
        .replace("{libraries}", &libraries.join(", "))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn about() -> About {
        About {
            version: "0.1.0".to_owned(),
            target: "x86_64-unknown-linux-gnu".to_owned(),
            rustc: "rustc 1.88.0".to_owned(),
            release: true,
            commit: None,
            changed: None,
            dated: None,
        }
    }

    fn needs() -> Needs {
        Needs {
            glibc: Some((2, 34, 0)),
            libraries: BTreeSet::from(["libc.so.6".to_owned()]),
            page_bytes: 65536,
        }
    }

    #[test]
    fn what_is_needed_stands_in_both_files() {
        let manifest = manifest(
            &about(),
            &needs(),
            &[("p2p-bw".to_owned(), "0.1.0".to_owned())],
        );
        assert_eq!(manifest["glibc_at_least"], "2.34");
        assert_eq!(manifest["page_bytes_at_most"], 65536);
        assert_eq!(manifest["programs"]["p2p-bw"], "0.1.0");
        assert_eq!(manifest["commit"], Value::Null);
        let install = install(&about(), &needs());
        // 65536 / 1024 = 64.
        assert!(
            install.contains("glibc 2.34 or newer, pages of at most 64 KiB"),
            "{install}"
        );
        assert!(
            install.contains("tplens-0.1.0-x86_64-unknown-linux-gnu.tar.gz")
                && !install.contains('{'),
            "{install}"
        );
    }

    #[test]
    fn an_archive_for_trying_says_so_in_its_name() {
        let tried = About {
            release: false,
            ..about()
        };
        assert_eq!(
            tried.archive_name(),
            "tplens-0.1.0-x86_64-unknown-linux-gnu-dev"
        );
    }
}
