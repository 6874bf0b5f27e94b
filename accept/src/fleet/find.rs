//! The files of a fleet: those that are named, and in folders every `report.json`, else every `*.json`, three levels deep, also below
//! the folder of a run.
//!
//! A link to a folder is followed where it is named and not where it is found, so that a search ends.

use std::fs;
use std::path::{Path, PathBuf};

use crate::report::REPORT_FILE;
use crate::run::JOURNAL_FILE;

/// Levels of folders below one that is named.
pub(super) const DEPTH: usize = 3;

/// What a run keeps in its folder beside its report: records of programs and a soft box, no reports.
const OWN: [&str; 2] = ["groups", "sim"];

/// More files than this are refused: a fleet is named folder by folder then.
const MOST: usize = 20_000;

/// What was found.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// The files, and folders of runs that have a journal and no report, each with whether it claims to be a report: by its name, or
    /// because it was named itself.
    pub(super) files: Vec<(PathBuf, bool)>,
    /// Folders that could not be listed, and why.
    pub(super) unlisted: Vec<(PathBuf, String)>,
    /// Folders that lie too deep to be searched.
    pub(super) too_deep: Vec<PathBuf>,
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
    found.too_deep.sort();
    if found.files.is_empty() && found.unlisted.is_empty() {
        return Err(format!(
            "there is no report.json and no *.json down to {DEPTH} levels; name the folder that holds the runs' folders"
        ));
    }
    Ok(found)
}

fn search(folder: &Path, depth: usize, found: &mut Found) -> Result<(), String> {
    let report = folder.join(REPORT_FILE);
    let has_report = report.symlink_metadata().is_ok();
    let has_journal = folder.join(JOURNAL_FILE).symlink_metadata().is_ok();
    // Other files beside a report are records and forms of the same run; runs of others may lie in folders below.
    let is_run = has_report || has_journal;
    if has_report {
        keep(report, true, found)?;
    } else if has_journal {
        keep(folder.to_owned(), true, found)?;
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
            Ok(kind) if kind.is_dir() => {
                let name = entry.file_name();
                if is_run && OWN.iter().any(|own| name == *own) {
                    continue;
                }
                match depth {
                    0 => found.too_deep.push(path),
                    _ => search(&path, depth - 1, found)?,
                }
            }
            Ok(kind)
                if !is_run
                    && !kind.is_dir()
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
