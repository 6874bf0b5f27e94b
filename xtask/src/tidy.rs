//! `cargo xtask tidy`: the rules of the repository that no compiler checks.
//!
//! It writes nothing but the table of ceilings, where that is asked for. The rules are in the files below this one, as
//! functions over text, so that each is tested with good and bad text; here the repository is walked and the findings are
//! written.

mod code;
mod ratchet;
mod rust;
mod text;

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use self::ratchet::{Lines, Repository, Table};
use crate::cargo;

/// A rule that a file breaks: the line, from 1, and the words.
type Finding = (usize, String);

/// What happens to the table of ceilings.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    /// It is compared with what is counted.
    Check,
    /// Its ceilings fall to what is counted before they are compared.
    Tighten,
}

/// Folders that hold nothing of ours.
const FOREIGN: &[&str] = &[".git", "target", "tplens-results"];

/// Kinds of text that are read.
const TEXT: &[&str] = &["rs", "toml", "md", "cu", "h", "html", "css", "js"];

/// Checks all files, writes what breaks a rule and tells whether nothing does.
pub(crate) fn run(out: &mut impl Write, mode: Mode) -> Result<bool> {
    let root = cargo::root()?;
    let mut files = Vec::new();
    collect(&root, &mut files)?;
    files.sort();
    let relative = |file: &PathBuf| {
        let path = file.strip_prefix(&root).unwrap_or(file);
        path.to_string_lossy().into_owned()
    };
    let paths: Vec<String> = files.iter().map(relative).collect();
    let mut repository = Repository::new(&paths);
    let mut clean = true;
    for (file, path) in files.iter().zip(&paths) {
        let text =
            fs::read_to_string(file).with_context(|| format!("{path} cannot be read as text"))?;
        repository.add(path, &text);
        let mut findings = text::check(&text);
        if path.ends_with(".rs") {
            findings.extend(rust::check(path, &text));
        }
        for (line, what) in findings {
            clean = false;
            writeln!(out, "tidy: {path}:{line}: {what}")?;
        }
    }
    for what in ceilings(&root, &repository, mode)? {
        clean = false;
        writeln!(out, "tidy: {}: {what}", ratchet::FILE)?;
    }
    let Lines {
        code,
        comments,
        tests,
    } = repository.lines();
    writeln!(
        out,
        "tidy: {} files; {code} lines of code, {comments} of comments, {tests} of tests; {}",
        files.len(),
        if clean { "clean" } else { "not clean" }
    )?;
    Ok(clean)
}

/// Compares the table of ceilings with what is counted, or lowers it first.
fn ceilings(root: &Path, repository: &Repository, mode: Mode) -> Result<Vec<String>> {
    let file = root.join(ratchet::FILE);
    let text = fs::read_to_string(&file).unwrap_or_default();
    let mut table = Table::parse(&text).context(ratchet::FILE)?;
    let counts = repository.counts();
    if mode == Mode::Tighten {
        table = table.tightened(&counts);
        fs::write(&file, table.render()).context(ratchet::FILE)?;
    }
    Ok(table.check(&counts))
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
