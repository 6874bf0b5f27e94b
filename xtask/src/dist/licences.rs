//! What the files are made of beside our own code, under which licences, with the texts that those ask to be handed on.
//!
//! It does not judge whether licences fit together.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};

use crate::cargo::{self, PROGRAM};
use crate::soft;

/// How the files begin in which packages keep their licences, in capitals.
const TEXTS: [&str; 6] = [
    "LICENSE",
    "LICENCE",
    "COPYING",
    "COPYRIGHT",
    "NOTICE",
    "UNLICENSE",
];

/// Writes the list and the texts of all that is part of our files when they run.
pub(super) fn write(root: &Path, target: &str) -> Result<()> {
    let mut tree = cargo::command(&["tree", "--locked", "--edges", "normal", "--prefix", "none"])?;
    tree.args(["--no-dedupe", "--target", target]);
    tree.args(["--format", "{p}\t{l}\t{r}"]);
    let packages = soft::packages(&[soft::SOFT, soft::SHIM]);
    let packages = packages.into_iter().chain([PROGRAM]);
    tree.args(packages.flat_map(|package| ["--package", package]));
    let used = cargo::output(&mut tree)?;
    let used: BTreeSet<&str> = used.lines().collect();

    let metadata = cargo::metadata(&["--locked", "--filter-platform", target])?;
    let mut folders: BTreeMap<String, &Path> = BTreeMap::new();
    for package in metadata["packages"].as_array().into_iter().flatten() {
        let word = |key: &str| package[key].as_str().unwrap_or_default();
        let folder = Path::new(word("manifest_path")).parent();
        let of_another = folder.filter(|_| package["source"].is_string());
        let name = format!("{} v{}", word("name"), word("version"));
        folders.extend(of_another.map(|folder| (name, folder)));
    }

    let mut list = String::from(
        "The program and libraries in this archive contain the packages below, each under its own licence, and Rust's standard library\n\
         (MIT or Apache-2.0, https://github.com/rust-lang/rust). The texts that the packages carry follow the list.\n\n",
    );
    let mut texts: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for line in used {
        let (named, rest) = line.split_once('\t').unwrap_or((line, ""));
        let (licence, repository) = rest.split_once('\t').unwrap_or((rest, ""));
        // Behind its version cargo says of what kind a package is.
        let name = named.trim_end_matches(" (proc-macro)");
        let Some(folder) = folders.get(name) else {
            continue;
        };
        ensure!(
            !licence.is_empty(),
            "{name} names no licence; look it up before anything is handed on"
        );
        list.push_str(&format!("{name}: {licence}; {repository}\n"));
        for text in texts_in(folder)? {
            texts.entry(text).or_default().push(name);
        }
    }
    for (text, of) in texts {
        let (line, of) = ("-".repeat(80), of.join(", "));
        list.push_str(&format!("\n{line}\n{of}\n\n{}\n", text.trim_end()));
    }
    fs::write(root.join("THIRD-PARTY.txt"), list).context("THIRD-PARTY.txt cannot be written")
}

/// Texts of licences in a package's folder.
fn texts_in(folder: &Path) -> Result<BTreeSet<String>> {
    let mut found = BTreeSet::new();
    for entry in
        fs::read_dir(folder).with_context(|| format!("{} cannot be listed", folder.display()))?
    {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().to_uppercase();
        let is_text = TEXTS.iter().any(|start| name.starts_with(start)) && !name.ends_with(".RS");
        if is_text && entry.path().is_file() {
            found.insert(String::from_utf8_lossy(&fs::read(entry.path())?).replace("\r\n", "\n"));
        }
    }
    Ok(found)
}
