//! What the files are made of beside our own code, under which licences, with the texts that those ask to be handed on.
//!
//! It does not judge whether licences fit together.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};

use crate::cargo;
use crate::{files, soft};

/// How the files begin in which packages keep their licences, in capitals.
const TEXTS: [&str; 4] = ["LICEN", "COPY", "NOTICE", "UNLICEN"];

/// Writes the list and the texts of all that is part of our files when they run.
pub(super) fn write(root: &Path, target: &str) -> Result<()> {
    let mut tree = cargo::command(&["tree", "--locked", "--edges", "normal", "--prefix", "none"])?;
    tree.args(["--no-dedupe", "--target", target, "--format", "{p}"]);
    tree.args(soft::all_packages());
    let used = cargo::output(&mut tree)?;
    let used: BTreeSet<&str> = used.lines().collect();

    let metadata = cargo::metadata(&["--locked", "--filter-platform", target])?;
    let packages = metadata["packages"].as_array().into_iter().flatten();
    let of_others = packages.filter(|package| package["source"].is_string());
    let packages = of_others.map(|package| {
        let words = ["name", "version", "license", "repository", "manifest_path"];
        let words = words.map(|key| package[key].as_str().unwrap_or_default());
        let [name, version, rest @ ..] = words;
        (format!("{name} v{version}"), rest)
    });
    let packages: BTreeMap<String, [&str; 3]> = packages.collect();

    let mut list = String::from(
        "The program and libraries in this archive contain the packages below, each under its own licence, and Rust's standard library\n\
         (MIT or Apache-2.0, https://github.com/rust-lang/rust). The texts that the packages carry follow the list.\n\n",
    );
    let mut texts: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for line in used {
        // Behind its version cargo says of what kind a package is.
        let name = line.trim_end_matches(" (proc-macro)");
        let Some([licence, repository, manifest]) = packages.get(name) else {
            continue;
        };
        let lacks = "names no licence; look it up before anything is handed on";
        ensure!(!licence.is_empty(), "{name} {lacks}");
        list.push_str(&format!("{name}: {licence}; {repository}\n"));
        let folder = Path::new(manifest).parent();
        for text in folder.map(texts_in).transpose()?.unwrap_or_default() {
            texts.entry(text).or_default().push(name);
        }
    }
    for (text, of) in texts {
        let (line, of) = ("-".repeat(80), of.join(", "));
        list.push_str(&format!("\n{line}\n{of}\n\n{}\n", text.trim_end()));
    }
    files::write(&root.join("THIRD-PARTY.txt"), &list)
}

/// Texts of licences in a package's folder.
fn texts_in(folder: &Path) -> Result<BTreeSet<String>> {
    let mut found = BTreeSet::new();
    let entries = fs::read_dir(folder);
    for entry in entries.with_context(|| format!("{} cannot be listed", folder.display()))? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().to_uppercase();
        let is_text = TEXTS.iter().any(|start| name.starts_with(start)) && !name.ends_with(".RS");
        if is_text && entry.path().is_file() {
            found.insert(String::from_utf8_lossy(&fs::read(entry.path())?).replace("\r\n", "\n"));
        }
    }
    Ok(found)
}
