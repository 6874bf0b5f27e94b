//! What the table holds of each crate and page, counted.
//!
//! A file belongs to the nearest folder above it that has a manifest. Generated code and other languages are not counted.

use std::collections::BTreeMap;

use super::circles::Modules;
use super::lines::{Lines, split};
use super::table::Key;
use crate::tidy::code::in_word;

/// Folders of a crate that hold tests only.
const TEST_FOLDERS: &[&str] = &["tests", "benches", "examples"];

/// Readers of other tools' text: they must look for sentences.
const READERS: &[&str] = &[
    "crates/doctor/",
    "crates/import/src/",
    "crates/openai/",
    "crates/topology/",
    "crates/tp-plan/src/log/",
];

/// Calls that look for a text in another.
const SEARCHES: &[&str] = &[
    ".contains(\"",
    ".starts_with(\"",
    ".ends_with(\"",
    ".strip_prefix(\"",
    ".strip_suffix(\"",
    ".split_once(\"",
    ".find(\"",
];

/// Pages whose lines are counted, besides those below `docs`; of the README it is the words.
const PAGES: &[&str] = &["CHANGELOG.md", "CONTRIBUTING.md"];

/// Everything that is counted in the repository.
#[derive(Debug)]
pub(crate) struct Repository {
    crates: BTreeMap<String, Crate>,
    pages: BTreeMap<Key, usize>,
}

#[derive(Debug, Default)]
struct Crate {
    lines: Lines,
    /// Functions that return text.
    strings: usize,
    /// Searches for two words or more in a text.
    searches: usize,
    modules: Modules,
}

impl Repository {
    /// Makes an empty one; the paths are all files, from which the crates are known.
    pub(crate) fn new(paths: &[String]) -> Repository {
        let folders = paths
            .iter()
            .filter_map(|path| path.strip_suffix("/Cargo.toml"));
        let crates = folders.map(|folder| (folder.to_owned(), Crate::default()));
        Repository {
            crates: crates.collect(),
            pages: BTreeMap::new(),
        }
    }

    /// Counts a file by its path from the repository's root. `lib.rs` must come before `main.rs`.
    pub(crate) fn add(&mut self, path: &str, text: &str) {
        let mut page = |what: &str, count| {
            self.pages.insert((path.to_owned(), what.to_owned()), count);
        };
        if path == "README.md" {
            page("words", text.split_whitespace().count());
        } else if PAGES.contains(&path) || path.starts_with("docs/") && path.ends_with(".md") {
            page("lines", text.lines().count());
        } else if path.ends_with(".rs") {
            let mut folders = path.match_indices('/').rev().map(|(end, _)| &path[..end]);
            let owner = folders.find(|folder| self.crates.contains_key(*folder));
            let inner = owner.map_or(path, |owner| &path[owner.len() + 1..]);
            let row = self.crates.entry(owner.unwrap_or(".").to_owned());
            row.or_default().add(path, inner, text);
        }
    }

    /// Lines of all crates.
    pub(crate) fn lines(&self) -> Lines {
        self.crates
            .values()
            .map(|row| row.lines)
            .fold(Lines::default(), Lines::plus)
    }

    /// Every count.
    pub(crate) fn counts(&self) -> BTreeMap<Key, usize> {
        let mut counts = self.pages.clone();
        for (name, row) in &self.crates {
            let (circles, files) = row.modules.circles();
            for (what, count) in [
                ("code", row.lines.code),
                ("tests", row.lines.tests),
                ("circles", circles),
                ("files-in-circles", files),
                ("string-functions", row.strings),
                ("sentence-searches", row.searches),
            ] {
                counts.insert((name.clone(), what.to_owned()), count);
            }
        }
        counts
    }
}

impl Crate {
    fn add(&mut self, path: &str, inner: &str, text: &str) {
        if is_test(inner) {
            self.lines.tests += text.matches('\n').count();
            return;
        }
        let (lines, product) = split(text);
        self.lines = self.lines.plus(lines);
        let returned = product.split("->").skip(1);
        self.strings += returned.filter(|after| is_string(after)).count();
        if !READERS.iter().any(|reader| path.starts_with(reader)) {
            for call in SEARCHES {
                let searches = product.split(call).skip(1);
                self.searches += searches.filter(|after| is_sentence(after)).count();
            }
        }
        if let Some(module) = inner.strip_prefix("src/") {
            self.modules.add(module, &product);
        }
    }
}

/// Tells whether a file, by its path below the crate's folder, holds tests only.
fn is_test(inner: &str) -> bool {
    let (folder, name) = inner.rsplit_once('/').unwrap_or(("", inner));
    let mut folders = folder.split('/');
    name.starts_with("test_")
        || ["tests.rs", "test.rs"].contains(&name)
        || folders
            .next()
            .is_some_and(|first| TEST_FOLDERS.contains(&first))
        || folders.any(|folder| folder == "tests")
}

/// Tells whether a return type is text, or may be, or is a list of texts.
fn is_string(after_arrow: &str) -> bool {
    let bare = after_arrow.trim_start();
    let inner = ["Vec<", "Option<"]
        .iter()
        .find_map(|outer| bare.strip_prefix(outer))
        .unwrap_or(bare);
    let rest = inner.strip_prefix("String");
    rest.is_some_and(|rest| !rest.starts_with(in_word))
}

/// Tells whether a literal, after its opening quote, holds two words beside each other.
fn is_sentence(literal: &str) -> bool {
    let text = literal.split('"').next().unwrap_or_default();
    text.match_indices(' ').any(|(blank, _)| {
        text[..blank].ends_with(in_word) && text[blank + 1..].starts_with(in_word)
    })
}
