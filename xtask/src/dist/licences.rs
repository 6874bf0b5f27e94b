//! What the files are made of beside our own code, under which licences, with the texts that those ask to be handed on.
//!
//! It does not judge whether licences fit together.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::{cargo, programs, soft};

/// How the files begin in which packages keep their licences, in capitals.
const TEXTS: [&str; 6] = [
    "LICENSE",
    "LICENCE",
    "COPYING",
    "COPYRIGHT",
    "NOTICE",
    "UNLICENSE",
];

/// Writes the list and the texts of all that is in the files.
pub(super) fn write(root: &Path, metadata: &Value, target: &str) -> Result<()> {
    let mut list = String::from(
        "The program and libraries in this archive contain the packages below, each under its own licence, and Rust's standard library\n\
         (MIT or Apache-2.0, https://github.com/rust-lang/rust). The texts that the packages carry follow the list.\n\n",
    );
    let mut texts: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let used = used(target)?;
    for package in metadata["packages"].as_array().into_iter().flatten() {
        let word = |key: &str| package[key].as_str().unwrap_or_default();
        let name = format!("{} v{}", word("name"), word("version"));
        if package["source"].is_null() || !used.contains(&name) {
            continue;
        }
        let licence = word("license");
        ensure!(
            !licence.is_empty(),
            "{name} names no licence; look it up before anything is handed on"
        );
        list.push_str(&format!("{name}: {licence}; {}\n", word("repository")));
        let folder = Path::new(word("manifest_path")).parent();
        for text in texts_in(folder.context("a manifest without a folder")?)? {
            texts.entry(text).or_default().push(name.clone());
        }
    }
    for (text, of) in texts {
        let (line, of) = ("-".repeat(80), of.join(", "));
        list.push_str(&format!("\n{line}\n{of}\n\n{}\n", text.trim_end()));
    }
    fs::write(root.join("THIRD-PARTY.txt"), list).context("THIRD-PARTY.txt cannot be written")
}

/// The packages that are part of ours when they run, as cargo names them with their versions.
fn used(target: &str) -> Result<BTreeSet<String>> {
    let mut command =
        cargo::command(&["tree", "--locked", "--edges", "normal", "--prefix", "none"])?;
    command.args(["--no-dedupe", "--format", "{p}", "--target", target]);
    for package in [programs::PACKAGE]
        .into_iter()
        .chain(soft::packages(&[soft::SOFT, soft::SHIM]))
    {
        command.args(["--package", package]);
    }
    let output = command.output().context("cargo tree did not start")?;
    ensure!(
        output.status.success(),
        "cargo tree failed ({})",
        output.status
    );
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let named = |line: &str| line.split(' ').take(2).collect::<Vec<_>>().join(" ");
    Ok(text.lines().map(named).collect())
}

/// Texts of licences in a package's folder.
fn texts_in(folder: &Path) -> Result<BTreeSet<String>> {
    let mut found = BTreeSet::new();
    for entry in
        fs::read_dir(folder).with_context(|| format!("{} cannot be listed", folder.display()))?
    {
        let path = entry?.path();
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .to_uppercase();
        let is_text = TEXTS.iter().any(|start| name.starts_with(start)) && !name.ends_with(".RS");
        if is_text && path.is_file() {
            found.insert(String::from_utf8_lossy(&fs::read(&path)?).replace("\r\n", "\n"));
        }
    }
    Ok(found)
}
