//! The folder that is packed: what is copied beside the built files, at the paths that pages and messages name.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};
use serde_json::json;
use sha2::{Digest, Sha256};
use walkdir::WalkDir;

use super::GLIBC;
use crate::cargo;
use crate::files::{make, read, write};

/// Files of the repository that go along whether pages name them or not; of a folder all that git has.
const COPIED: [&str; 10] = [
    "README.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "LICENSE-APACHE",
    "LICENSE-MIT",
    "boxes",
    "accept/profiles",
    "accept/recipes",
    "bench/agree",
    "docs",
];

/// Ends of names of files that pages may name.
const NAMED: [&str; 7] = ["md", "toml", "json", "jsonl", "csv", "txt", "sh"];

/// Copies what goes along and what that names, and writes what says what the archive is.
pub(super) fn files(root: &Path, target: &str) -> Result<()> {
    let repository = cargo::root()?;
    let git = |arguments: &[&str]| {
        let mut command = Command::new("git");
        cargo::output(command.args(arguments).current_dir(&repository))
    };
    let tracked = git(&["ls-files"])?;
    let tracked: BTreeSet<&str> = tracked.lines().collect();
    let is_copied = |path: &&&str| COPIED.iter().any(|at| Path::new(path).starts_with(at));
    for path in tracked.iter().filter(is_copied) {
        copy(&repository, root, path)?;
        if path.ends_with(".md") {
            let text = read(&repository.join(path))?;
            for named in named(&text).filter(|named| tracked.contains(named)) {
                copy(&repository, root, named)?;
            }
        }
    }
    // What messages of the program name.
    copy(&repository, root, "accept/report.schema.json")?;
    copy(&repository, root, "serve-bench/examples/r9700.toml")?;
    let install = include_str!("INSTALL.md").replace("{target}", target);
    let install = install.replace("{glibc}", GLIBC);
    write(&root.join("INSTALL.md"), &install)?;
    let commit = git(&["rev-parse", "HEAD"])?;
    let manifest =
        json!({"schema": 2, "target": target, "glibc_at_least": GLIBC, "commit": commit.trim()});
    write(&root.join("MANIFEST.json"), &format!("{manifest:#}\n"))
}

/// Words of a page that can be paths of files, those of links from `docs` by their paths from the root.
fn named(text: &str) -> impl Iterator<Item = &str> {
    let is_of_path = |letter: char| letter.is_ascii_alphanumeric() || "_-./".contains(letter);
    text.split(move |letter| !is_of_path(letter))
        .map(|word| word.trim_start_matches("../"))
        .filter(|word| {
            let end = Path::new(word).extension().and_then(|end| end.to_str());
            word.contains('/') && end.is_some_and(|end| NAMED.contains(&end))
        })
}

/// Copies a file: readable by all, and by all to run where its owner could run it.
fn copy(from: &Path, to: &Path, path: &str) -> Result<()> {
    let (from, to) = (from.join(path), to.join(path));
    make(to.parent().unwrap_or(&to))?;
    fs::copy(&from, &to).with_context(|| format!("{} cannot be copied", from.display()))?;
    let may_run = fs::metadata(&from)?.permissions().mode() & 0o100 != 0;
    let mode = if may_run { 0o755 } else { 0o644 };
    fs::set_permissions(&to, fs::Permissions::from_mode(mode))
        .with_context(|| format!("{} cannot be given its mode", to.display()))
}

/// Writes the sums of all files below the folder, as sha256sum(1) checks them; links are left out.
pub(super) fn sums(root: &Path) -> Result<()> {
    let mut text = String::new();
    for entry in WalkDir::new(root).sort_by_file_name() {
        let entry = entry?;
        if entry.file_type().is_file() {
            let digest = Sha256::digest(fs::read(entry.path())?);
            let sum: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
            let name = entry.path().strip_prefix(root)?.display();
            text.push_str(&format!("{sum}  {name}\n"));
        }
    }
    write(&root.join("SHA256SUMS"), &text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_names_files_by_their_paths_or_by_links_to_them() {
        let text = "`golden/inputs/a.json`, [b](../serve-bench/data/b.csv), [c](c.md), src/d.rs";
        let files: Vec<&str> = named(text).collect();
        assert_eq!(files, ["golden/inputs/a.json", "serve-bench/data/b.csv"]);
    }
}
