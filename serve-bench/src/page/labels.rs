//! Which configuration a result is of, so that two are not one curve: by the plan of its sweep, or by what names have in common.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use measure::import::serve::ServeResult;

use crate::sweep::{Group, Plan, expand};

/// Parts of a name that say how large a load is, before or behind a number or by themselves.
const SIZES: [&str; 10] = [
    "np",
    "n",
    "c",
    "conc",
    "concurrency",
    "mc",
    "qps",
    "infqps",
    "rate",
    "rps",
];

/// Files that are the result of the folder they are in.
const OF_FOLDER: [&str; 2] = ["record.json", "journal.jsonl"];

/// Labels of a sweep's cells, by their folders' names.
type Sweep = BTreeMap<String, String>;

/// The label of each result; none where nothing tells one configuration from another.
pub(super) fn labels(results: &[ServeResult]) -> Vec<Option<String>> {
    let mut sweeps = BTreeMap::new();
    let found: Vec<(String, bool)> = results
        .iter()
        .map(|result| {
            let path = place(&result.run.origin);
            match planned(&path, &mut sweeps) {
                Some(label) => (label, true),
                None => (named(&path), false),
            }
        })
        .collect();
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for (label, _) in &found {
        *counts.entry(label).or_default() += 1;
    }
    // Names of which no two are alike are names of runs and not of configurations.
    let names_tell = counts.len() > 1 && counts.values().any(|count| *count > 1);
    found
        .iter()
        .map(|(label, is_planned)| {
            let is_told = !label.is_empty() && (*is_planned || names_tell);
            is_told.then(|| label.clone())
        })
        .collect()
}

/// The file or folder of a result.
fn place(origin: &str) -> PathBuf {
    let number = origin.rsplit_once('#').filter(|(_, number)| {
        let is_digit = |letter: char| letter.is_ascii_digit();
        !number.is_empty() && number.chars().all(is_digit)
    });
    let path = match number {
        Some((file, _)) if !Path::new(origin).exists() => Path::new(file),
        _ => Path::new(origin),
    };
    let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let is_of_folder = OF_FOLDER.iter().any(|name| path.ends_with(name));
    match path.parent() {
        Some(folder) if is_of_folder => folder.to_owned(),
        _ => path,
    }
}

/// What the plan says that a cell is.
fn planned(cell: &Path, sweeps: &mut BTreeMap<PathBuf, Sweep>) -> Option<String> {
    let cells = cell.parent().filter(|cells| cells.ends_with("cells"))?;
    let folder = cells.parent()?;
    let sweep = sweeps
        .entry(folder.to_owned())
        .or_insert_with(|| read(&folder.join("plan.toml")).unwrap_or_default());
    sweep.get(cell.file_name()?.to_str()?).cloned()
}

fn read(plan: &Path) -> Option<Sweep> {
    let cells = expand(&Plan::read(plan).ok()?).ok()?;
    let labelled = cells.into_iter().map(|cell| {
        let Group { config, model, tp } = cell.group;
        (cell.name, format!("{config} {model} TP{tp}"))
    });
    Some(labelled.collect())
}

/// A name without what tells the size of a load or when it was; that of the folder, where nothing else is in it.
fn named(path: &Path) -> String {
    let own = if path.is_dir() {
        path.file_name()
    } else {
        path.file_stem()
    };
    let folder = path.parent().and_then(Path::file_name);
    let mut names = [own, folder].into_iter().flatten();
    names
        .find_map(|name| Some(common(name.to_str()?)).filter(|name| !name.is_empty()))
        .unwrap_or_default()
}

/// The parts of a name that say neither a size nor a time.
fn common(name: &str) -> String {
    let parts = name.split(['_', '-']);
    let kept: Vec<&str> = parts.filter(|part| !is_size(part)).collect();
    kept.join("_")
}

fn is_size(part: &str) -> bool {
    let is_of_number = |letter: char| letter.is_ascii_digit() || letter == '.';
    // A time is digits with `T` and `Z` among them.
    let is_time = |letter: char| is_of_number(letter) || letter == 'T' || letter == 'Z';
    if part.starts_with(is_of_number) && part.chars().all(is_time) {
        return true;
    }
    let word = part.trim_matches(is_of_number);
    word.is_empty() || SIZES.contains(&word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_of_a_name_is_the_configuration() {
        let of = |path: &str| named(Path::new(path));
        assert_eq!(
            of("x/2A_8B_TP2_1024_np16_20260102-030405.json"),
            "2A_8B_TP2"
        );
        assert_eq!(
            of("x/openai-infqps-concurrency4-Qwen3-20260102-030405.json"),
            "openai_Qwen3"
        );
        assert_eq!(of("x/run-20260102T030405Z.json"), "run");
        // Nothing is left of `16`, and the folder tells.
        assert_eq!(of("x8/16.json"), "x8");
        assert_eq!(of("c4a"), "c4a");
    }
}
