//! The files of a fleet: those that are named, and in folders every `report.json`, else every `*.json`, three levels deep.
//!
//! A link to a folder is followed where it is named and not where it is found, so that a search ends.

use std::fs;
use std::path::{Path, PathBuf};

use crate::report::REPORT_FILE;
use crate::run::JOURNAL_FILE;

/// Levels of folders below one that is named.
const DEPTH: usize = 3;

/// More files than this are refused: a fleet is named folder by folder then.
const MOST: usize = 20_000;

/// What was found.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// The files, each with whether it claims to be a report: by its name, or because it was named itself.
    pub(super) files: Vec<(PathBuf, bool)>,
    /// Folders that could not be listed, and those of runs that did not end: why there is no report of theirs.
    pub(super) unlisted: Vec<(PathBuf, String)>,
}

/// Looks for reports.
///
/// # Errors
/// A path that is named is not there, nothing was found, or too much.
pub(super) fn find(named: &[PathBuf]) -> Result<Found, String> {
    let mut found = Found::default();
    for path in named {
        let kind = fs::metadata(path)
            .map_err(|error| format!("cannot read {}: {error}", path.display()))?;
        if kind.is_dir() {
            search(path, DEPTH, &mut found)?;
        } else {
            found.files.push((path.clone(), true));
        }
    }
    found.files.sort();
    found.files.dedup_by(|later, first| later.0 == first.0);
    if found.files.is_empty() && found.unlisted.is_empty() {
        return Err(
            "there is no report.json and no *.json; name the folder that holds the runs' folders"
                .to_owned(),
        );
    }
    Ok(found)
}

fn search(folder: &Path, depth: usize, found: &mut Found) -> Result<(), String> {
    // A result folder has its report beside the records of the programs that measured, which are no reports.
    let report = folder.join(REPORT_FILE);
    if report.symlink_metadata().is_ok() {
        return keep(report, true, found);
    }
    if folder.join(JOURNAL_FILE).symlink_metadata().is_ok() {
        let why = "its run did not end: there is a journal and no report; `accept run --resume` goes on with it";
        found.unlisted.push((folder.to_owned(), why.to_owned()));
        return Ok(());
    }
    let listed = fs::read_dir(folder).and_then(|entries| entries.collect::<Result<Vec<_>, _>>());
    let entries = match listed {
        Ok(entries) => entries,
        Err(error) => {
            found.unlisted.push((folder.to_owned(), error.to_string()));
            return Ok(());
        }
    };
    for entry in entries {
        let path = entry.path();
        match entry.file_type() {
            Ok(kind) if kind.is_dir() && depth > 0 => search(&path, depth - 1, found)?,
            Ok(kind)
                if !kind.is_dir()
                    && !path.is_dir()
                    && path.extension().is_some_and(|end| end == "json") =>
            {
                keep(path, false, found)?;
            }
            _ => {}
        }
    }
    Ok(())
}

fn keep(path: PathBuf, claims: bool, found: &mut Found) -> Result<(), String> {
    if found.files.len() >= MOST {
        return Err(format!(
            "there are more than {MOST} files; name fewer folders at a time"
        ));
    }
    found.files.push((path, claims));
    Ok(())
}
