//! What a search was begun with: kept in its folder, so that only the same search goes on there.

use std::path::Path;

use measure::record::write_whole;
use serde::{Deserialize, Serialize};

use super::search::Bounds;

/// The version that is written.
pub(super) const SCHEMA: u32 = 1;

const FILE: &str = "settings.json";

/// The settings of a search.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Settings {
    /// Version of this file and of `slo.json`.
    pub(super) schema: u32,
    /// `rate` or `concurrency`.
    pub(super) search: String,
    /// The objectives in words.
    pub(super) slo: Vec<String>,
    /// Where to search.
    pub(super) bounds: Bounds,
    /// Seconds of arrivals of a run.
    pub(super) window_s: f64,
    /// Requests for each in flight.
    pub(super) rounds: u32,
    /// Seed of the first run.
    pub(super) seed: u64,
    /// Flags of `serve-bench run`, without secrets.
    pub(super) load: Vec<String>,
}

impl Settings {
    /// Begins a search in a folder, or goes on with the one that is there: then its settings, with its seed, are given.
    ///
    /// # Errors
    /// The folder holds another search, or something else, or cannot be written; in words.
    pub(super) fn keep(mut self, folder: &Path, names_seed: bool) -> Result<(Self, bool), String> {
        let file = folder.join(FILE);
        let other = "choose another folder with --out";
        if !file.exists() {
            let taken = folder
                .read_dir()
                .is_ok_and(|mut entries| entries.next().is_some());
            if taken {
                let folder = folder.display();
                return Err(format!(
                    "{folder} holds something else than a search; {other}"
                ));
            }
            std::fs::create_dir_all(folder).map_err(|error| {
                let folder = folder.display();
                format!("cannot make the folder {folder}: {error}; {other}")
            })?;
            let text = serde_json::to_string_pretty(&self).map_err(|error| error.to_string())?;
            write_whole(&file, (text + "\n").as_bytes()).map_err(|error| error.to_string())?;
            return Ok((self, false));
        }
        let name = file.display();
        let text = std::fs::read_to_string(&file)
            .map_err(|error| format!("cannot read {name}: {error}"))?;
        let kept: Self = serde_json::from_str(&text)
            .map_err(|error| format!("{name} is of no search of this version: {error}; {other}"))?;
        if !names_seed {
            self.seed = kept.seed;
        }
        if kept == self {
            return Ok((self, true));
        }
        Err(format!(
            "{} holds a search with other settings (see {FILE} there); go on with the same ones, or {other}",
            folder.display()
        ))
    }
}
