//! `cargo xtask tidy`: the rules of the repository that no compiler checks.
//!
//! It writes nothing but the table of ceilings, where that is asked for. Here the repository is walked; what is found in a text,
//! counted of a crate and allowed stands in the files below this one.

mod ceilings;
mod circles;
mod lines;
mod rules;

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::io::Write;
use std::path::PathBuf;

use anyhow::{Context, Result};
use walkdir::WalkDir;

use self::circles::Modules;
use self::lines::{Lines, is_test, split};
use crate::cargo;

/// Folders that hold nothing of ours.
const FOREIGN: &[&str] = &[".git", "target", "tplens-results"];

/// Kinds of text that are read.
const TEXT: &[&str] = &["rs", "toml", "md", "cu", "h", "html", "css", "js"];

/// Pages whose lines have a ceiling, besides those below `docs`; of the README it is the words.
const PAGES: &[&str] = &["CHANGELOG.md", "CONTRIBUTING.md"];

/// Checks all files, writes what breaks a rule and tells whether nothing does.
pub(crate) fn run(out: &mut impl Write, tighten: bool) -> Result<bool> {
    let root = cargo::root()?;
    let files = files(&root.to_string_lossy())?;
    let (mut findings, mut counts) = (Vec::new(), BTreeMap::new());
    // By the folder of its manifest, to which a file belongs that has no nearer one above it.
    let mut crates: BTreeMap<&str, (Lines, Modules)> = files
        .iter()
        .filter_map(|path| path.strip_suffix("/Cargo.toml"))
        .map(|folder| (folder, Default::default()))
        .collect();
    for path in &files {
        let text = fs::read_to_string(root.join(path))
            .with_context(|| format!("{path} cannot be read as text"))?;
        let found = rules::check(path, &text);
        findings.extend(found.map(|(line, what)| format!("{path}:{line}: {what}")));
        let mut page = |what, count| {
            counts.insert((path.clone(), what), count);
        };
        if path == "README.md" {
            page("words", text.split_whitespace().count());
        } else if PAGES.contains(&path.as_str())
            || path.starts_with("docs/") && path.ends_with(".md")
        {
            page("lines", text.lines().count());
        }
        let mut folders = path.match_indices('/').rev().map(|(end, _)| &path[..end]);
        let owner = folders.find(|folder| crates.contains_key(*folder));
        if let Some(owner) = owner.filter(|_| path.ends_with(".rs"))
            && let Some((lines, modules)) = crates.get_mut(owner)
        {
            let inner = &path[owner.len() + 1..];
            if is_test(inner) {
                lines.tests += text.matches('\n').count();
                continue;
            }
            let product = split(&text, lines);
            if let Some(module) = inner.strip_prefix("src/") {
                modules.add(module, &product);
            }
        }
    }
    let mut all = Lines::default();
    for (name, (lines, modules)) in &crates {
        for file in modules.in_circles() {
            findings.push(format!(
                "{name}: src/{file} imports itself through the files that it imports"
            ));
        }
        counts.insert(((*name).to_owned(), "code"), lines.code);
        counts.insert(((*name).to_owned(), "tests"), lines.tests);
        all.code += lines.code;
        all.comments += lines.comments;
        all.tests += lines.tests;
    }
    let above = ceilings::check(&root.join(ceilings::FILE), &counts, tighten)?;
    findings.extend((above.iter()).map(|what| format!("{}: {what}", ceilings::FILE)));
    for finding in &findings {
        writeln!(out, "tidy: {finding}")?;
    }
    writeln!(
        out,
        "tidy: {} files; {} lines of code, {} of comments, {} of tests; {}",
        files.len(),
        all.code,
        all.comments,
        all.tests,
        if findings.is_empty() {
            "clean"
        } else {
            "not clean"
        }
    )?;
    Ok(findings.is_empty())
}

/// The files that are read, from the root, in the order of their names.
fn files(root: &str) -> Result<Vec<String>> {
    let is_ours = |name: &OsStr| !FOREIGN.iter().any(|foreign| name == *foreign);
    let walk = WalkDir::new(root).sort_by_file_name().into_iter();
    let mut files = Vec::new();
    for entry in walk.filter_entry(|entry| is_ours(entry.file_name())) {
        let path: PathBuf = entry?.into_path();
        let end = path.extension().and_then(OsStr::to_str);
        if path.is_file() && end.is_some_and(|end| TEXT.contains(&end)) {
            files.push(path.strip_prefix(root)?.to_string_lossy().into_owned());
        }
    }
    Ok(files)
}
