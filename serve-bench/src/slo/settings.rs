//! What a search was begun with: kept in its folder, so that only the same search goes on there.

use std::path::Path;

use measure::record::write_whole;
use program::{Stop, outputs};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::search::Bounds;

/// The version that is written.
pub(super) const SCHEMA: u32 = 1;

/// Its name in the folder.
pub(super) const FILE: &str = "settings.json";

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
    /// The folder holds another search, or something else, or cannot be written.
    pub(super) fn keep(mut self, folder: &Path, names_seed: bool) -> Result<(Self, bool), Stop> {
        let file = folder.join(FILE);
        let other = "choose another folder with --out";
        if !file.exists() {
            let taken = folder
                .read_dir()
                .is_ok_and(|mut entries| entries.next().is_some());
            if taken {
                let folder = folder.display();
                return Err(Stop::Usage(format!(
                    "{folder} holds something else than a search; {other}"
                )));
            }
            outputs::make_folder("--out", folder)?;
            let text = serde_json::to_string_pretty(&self).map_err(anyhow::Error::from)?;
            write_whole(&file, (text + "\n").as_bytes()).map_err(anyhow::Error::from)?;
            return Ok((self, false));
        }
        let name = file.display();
        let text = bounded::text(&file, bounded::SETTINGS)
            .map_err(|error| Stop::Usage(format!("cannot read {name}: {error}")))?;
        let kept: Self = serde_json::from_str(&text).map_err(|error| {
            Stop::Usage(format!(
                "{name} is of no search of this version: {error}; {other}"
            ))
        })?;
        if !names_seed {
            self.seed = kept.seed;
        }
        if kept == self {
            return Ok((self, true));
        }
        Err(Stop::Usage(format!(
            "{} holds a search with other settings: {}; go on with those of {FILE} there, or {other}",
            folder.display(),
            kept.differences(&self).join("; ")
        )))
    }

    /// Each setting that another search has otherwise, in words.
    fn differences(&self, asked: &Self) -> Vec<String> {
        let pair = (serde_json::to_value(self), serde_json::to_value(asked));
        let (Ok(kept), Ok(asked)) = pair else {
            return Vec::new();
        };
        let mut found = Vec::new();
        differences("", &kept, &asked, &mut found);
        found
    }
}

fn differences(name: &str, kept: &Value, asked: &Value, found: &mut Vec<String>) {
    if kept == asked {
        return;
    }
    if let (Value::Object(kept), Value::Object(asked)) = (kept, asked) {
        for (key, kept) in kept {
            let asked = asked.get(key).unwrap_or(&Value::Null);
            differences(key, kept, asked, found);
        }
        return;
    }
    let (kept, asked) = (shown(kept), shown(asked));
    found.push(format!("{name} is {kept} there and {asked} here"));
}

/// A value in words; a list as its words.
fn shown(value: &Value) -> String {
    match value {
        Value::Array(words) if words.is_empty() => "nothing".to_owned(),
        Value::Array(words) => {
            let words: Vec<String> = words.iter().map(shown).collect();
            format!("`{}`", words.join(" "))
        }
        Value::String(word) => word.clone(),
        other => other.to_string(),
    }
}
