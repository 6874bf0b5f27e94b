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
use std::io::Write;
use std::path::PathBuf;

use anyhow::Result;
use walkdir::WalkDir;

use self::circles::Modules;
use self::lines::{Lines, is_test, split};
use crate::cargo;
use crate::files::read;

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
    let folders = (files.iter()).filter_map(|path| path.strip_suffix("/Cargo.toml"));
    let crates = folders.map(|folder| (folder, Default::default()));
    let mut crates: BTreeMap<&str, (Lines, Modules)> = crates.collect();
    for path in &files {
        let text = read(&root.join(path))?;
        let found = rules::check(path, &text);
        findings.extend(found.map(|(line, what)| format!("{path}:{line}: {what}")));
        let is_doc = path.starts_with("docs/") && path.ends_with(".md");
        if path == "README.md" {
            counts.insert((path.clone(), "words"), text.split_whitespace().count());
        } else if is_doc || PAGES.contains(&path.as_str()) {
            counts.insert((path.clone(), "lines"), text.lines().count());
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
    let (mut code, mut comments, mut tests) = (0, 0, 0);
    for (name, (lines, modules)) in &crates {
        let circle = |file| format!("{name}: src/{file} imports itself through others");
        findings.extend(modules.in_circles().into_iter().map(circle));
        counts.insert(((*name).to_owned(), "code"), lines.code);
        counts.insert(((*name).to_owned(), "tests"), lines.tests);
        code += lines.code;
        comments += lines.comments;
        tests += lines.tests;
    }
    let above = ceilings::check(&root.join(ceilings::FILE), &counts, tighten)?;
    findings.extend((above.iter()).map(|what| format!("{}: {what}", ceilings::FILE)));
    for finding in &findings {
        writeln!(out, "tidy: {finding}")?;
    }
    let (files, clean) = (files.len(), findings.is_empty());
    let lines = format!("{code} lines of code, {comments} of comments, {tests} of tests");
    let verdict = if clean { "clean" } else { "not clean" };
    writeln!(out, "tidy: {files} files; {lines}; {verdict}")?;
    Ok(clean)
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
