//! `cargo xtask tidy`: the rules of the repository that no compiler checks.
//!
//! It only reads. The rules are in the files below this one, as functions over text, so that each is tested with good
//! and bad text; here the repository is walked and the findings are written.

mod code;
mod manifest;
mod rust;
mod text;

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::cargo;

/// A rule that a file breaks.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Finding {
    /// Line from 1, absent where the file as a whole is meant.
    line: Option<usize>,
    what: String,
}

impl Finding {
    fn at(index: usize, what: impl Into<String>) -> Finding {
        Finding {
            line: Some(index + 1),
            what: what.into(),
        }
    }

    fn whole(what: impl Into<String>) -> Finding {
        Finding {
            line: None,
            what: what.into(),
        }
    }
}

/// Folders that hold nothing of ours.
const FOREIGN: &[&str] = &[".git", "target", "tplens-results"];

/// Kinds of text that are read.
const TEXT: &[&str] = &["rs", "toml", "md", "cu", "h", "html", "css", "js"];

/// Checks all files, writes what breaks a rule and tells whether nothing does.
pub(crate) fn run(out: &mut impl Write) -> Result<bool> {
    let root = cargo::root()?;
    let mut files = Vec::new();
    collect(&root, &mut files)?;
    files.sort();
    let mut clean = true;
    for file in &files {
        let path = file
            .strip_prefix(&root)
            .unwrap_or(file)
            .to_string_lossy()
            .into_owned();
        let text =
            fs::read_to_string(file).with_context(|| format!("{path} cannot be read as text"))?;
        let siblings = |name: &str| {
            file.parent()
                .map(|folder| folder.join(name))
                .filter(|file| file.is_file())
        };
        let mut findings = text::check(&text);
        if path.ends_with(".rs") {
            findings.extend(rust::check(&path, &text));
            if let Some(lines) = rust::long(&text) {
                writeln!(out, "tidy: note: {path} has {lines} lines; look for a seam")?;
            }
        }
        if path.ends_with("Cargo.toml") {
            findings.extend(manifest::check(&text));
            for root in ["src/lib.rs", "src/main.rs"]
                .into_iter()
                .filter_map(siblings)
            {
                let source = fs::read_to_string(&root)
                    .with_context(|| format!("{} cannot be read", root.display()))?;
                findings.extend(manifest::check_crate(
                    path.trim_end_matches("Cargo.toml"),
                    &source,
                ));
            }
        }
        for finding in &findings {
            clean = false;
            let line = finding
                .line
                .map(|line| format!("{line}:"))
                .unwrap_or_default();
            writeln!(out, "tidy: {path}:{line} {}", finding.what)?;
        }
    }
    let changelog = fs::read_to_string(root.join("CHANGELOG.md")).unwrap_or_default();
    for finding in text::check_changelog(&changelog) {
        clean = false;
        writeln!(out, "tidy: CHANGELOG.md: {}", finding.what)?;
    }
    writeln!(
        out,
        "tidy: {} files, {}",
        files.len(),
        if clean { "clean" } else { "not clean" }
    )?;
    Ok(clean)
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    for entry in
        fs::read_dir(folder).with_context(|| format!("{} cannot be listed", folder.display()))?
    {
        let entry = entry?;
        let (path, kind) = (entry.path(), entry.file_type()?);
        let name = entry.file_name();
        if kind.is_dir() {
            if !FOREIGN.iter().any(|foreign| name == *foreign) {
                collect(&path, files)?;
            }
        } else if kind.is_file()
            && path
                .extension()
                .is_some_and(|end| TEXT.iter().any(|text| end == *text))
        {
            files.push(path);
        }
    }
    Ok(())
}
