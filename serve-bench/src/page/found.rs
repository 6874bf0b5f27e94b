//! The results that a page is of: files, result folders, and those in folders below.

use std::path::{Path, PathBuf};

use measure::import::serve::{ServeResult, read_all};

use crate::compare::of_several;

/// Folders below a folder that are looked into.
const DEPTH: usize = 3;

/// Files that make a folder a result.
const RESULT: [&str; 2] = ["record.json", "journal.jsonl"];

/// Reads results, also those in folders below; gives with them why others were left out.
pub(super) fn found(paths: &[PathBuf]) -> (Vec<ServeResult>, Vec<String>) {
    let (mut results, mut refused) = (Vec::new(), Vec::new());
    let mut found = Vec::new();
    for path in paths {
        let before = found.len();
        find(path, DEPTH, &mut found);
        if found.len() == before
            && let Some(reason) = of_several(path)
        {
            refused.push(reason);
        } else if found.len() == before {
            // A name that is not there, too: its reader says so.
            found.push(path.clone());
        }
    }
    for path in found {
        match read_all(&path) {
            Ok(read) => results.extend(read),
            Err(error) => refused.push(error.to_string()),
        }
    }
    (results, refused)
}

/// A file, a result folder, or the result folders below a folder, in the order of their names.
fn find(path: &Path, depth: usize, found: &mut Vec<PathBuf>) {
    let is_result = RESULT.iter().any(|name| path.join(name).is_file());
    if is_result || path.is_file() {
        found.push(path.to_owned());
        return;
    }
    let Ok(entries) = std::fs::read_dir(path) else {
        return;
    };
    let mut folders: Vec<PathBuf> = entries
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.is_dir())
        .collect();
    folders.sort();
    if depth > 0 {
        folders
            .iter()
            .for_each(|folder| find(folder, depth - 1, found));
    }
}
