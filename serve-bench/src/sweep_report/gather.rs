//! Every result of some folders with its place; what cannot be placed keeps its name and the reason.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use import::serve::{ServeResult, read_all};
use serde::Serialize;

use super::place::{Place, place};
use super::setups::Setups;
use crate::sweep::{Cell, Plan, expand};

/// How deep folders are looked into.
const DEEPEST: usize = 4;

/// What was found.
#[derive(Debug, Default)]
pub(super) struct Gathered {
    /// Results by their places, repeats of one in the order of their names.
    pub(super) cells: BTreeMap<Place, Vec<ServeResult>>,
    /// What is of no place.
    pub(super) unplaced: Vec<Unplaced>,
}

/// A file that has no place, or no valid times.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Unplaced {
    pub(super) file: String,
    pub(super) reason: String,
}

impl Gathered {
    /// Adds all results of a folder; the setups of its plan are added, where it has one.
    ///
    /// # Errors
    /// In words: the folder or its plan cannot be read.
    pub(super) fn add(&mut self, folder: &Path, setups: &mut Setups) -> Result<(), String> {
        let plan = folder.join("plan.toml");
        if plan.is_file() && folder.join("cells").is_dir() {
            let plan = Plan::read(&plan)?;
            setups.add_plan(&plan)?;
            let cells = expand(&plan).map_err(|error| format!("{}: {error}", folder.display()))?;
            self.sweep(&folder.join("cells"), &cells);
            return Ok(());
        }
        for file in files(folder, DEEPEST)? {
            self.file(&file);
        }
        Ok(())
    }

    /// The cells of a sweep, which its plan places.
    fn sweep(&mut self, folder: &Path, cells: &[Cell]) {
        let outputs: Vec<u32> = cells.iter().map(|cell| cell.output).collect();
        let has_one_output = outputs.windows(2).all(|pair| pair[0] == pair[1]);
        for cell in cells {
            let at = folder.join(&cell.name);
            // What was not run yet has no place to fill.
            if !at.is_dir() {
                continue;
            }
            let mut load = loaded(cell.concurrency.map(f64::from), cell.rate);
            if !has_one_output {
                load.push(format!("{} out", cell.output));
            }
            let place = Place {
                config: cell.group.config.clone(),
                model: cell.group.model.clone(),
                tp: cell.group.tp,
                input: cell.input,
                load: load.join(", "),
                num_prompts: cell.num_prompts,
            };
            match read_one(&at) {
                Ok(result) => self.cells.entry(place).or_default().push(result),
                Err(reason) => self.leave(&at, reason),
            }
        }
    }

    /// A file, or result folder, which its name places.
    fn file(&mut self, file: &Path) {
        let placed = read_one(file).and_then(|result| {
            let stem = if file.is_dir() {
                file.file_name()
            } else {
                file.file_stem()
            };
            let stem = stem.and_then(|stem| stem.to_str()).unwrap_or_default();
            let run = &result.run;
            let requests = result
                .asked
                .requests
                .unwrap_or(run.completed + run.failed.unwrap_or(0));
            let mut place = place(stem, result.input_each(), requests)?;
            let rate = run.request_rate_asked.filter(|rate| rate.is_finite());
            place.load = loaded(run.concurrency_asked, rate).join(", ");
            Ok((place, result))
        });
        match placed {
            Ok((place, result)) => self.cells.entry(place).or_default().push(result),
            Err(reason) => self.leave(file, reason),
        }
    }

    fn leave(&mut self, file: &Path, reason: String) {
        self.unplaced.push(Unplaced {
            file: record::control::replaced(&file.display().to_string()),
            reason,
        });
    }
}

/// What tells loads of one size apart.
fn loaded(concurrency: Option<f64>, rate: Option<f64>) -> Vec<String> {
    let limit = concurrency.map(|limit| format!("{limit} in flight"));
    let rate = rate.map(|rate| format!("{rate} requests/s"));
    limit.into_iter().chain(rate).collect()
}

/// The one result of a file or folder.
fn read_one(path: &Path) -> Result<ServeResult, String> {
    let mut results = read_all(path).map_err(|error| error.to_string())?;
    match results.len() {
        1 => Ok(results.remove(0)),
        several => Err(format!(
            "it holds {several} results and its name is that of one"
        )),
    }
}

/// The JSON files and result folders below a folder, by name.
fn files(folder: &Path, deep: usize) -> Result<Vec<PathBuf>, String> {
    let unreadable = |error| format!("cannot read the folder {}: {error}", folder.display());
    let mut entries: Vec<PathBuf> = std::fs::read_dir(folder)
        .map_err(unreadable)?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .collect();
    entries.sort();
    let mut found = Vec::new();
    for entry in entries {
        if entry.join("record.json").is_file() {
            found.push(entry);
        } else if entry.is_dir() {
            if deep > 0 {
                found.extend(files(&entry, deep - 1)?);
            }
        } else if entry.extension().is_some_and(|kind| kind == "json") {
            found.push(entry);
        }
    }
    Ok(found)
}
