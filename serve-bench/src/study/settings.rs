//! What a study is about: written into its folder when it begins, so that the same command goes on where it was broken off.

use std::path::Path;

use measure::record::write_whole;
use program::{Stop, outputs};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// The settings that decide what is measured. A folder holds one study, and its settings never change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Settings {
    /// Version of this file.
    pub(crate) schema: u32,
    /// `--model`.
    pub(crate) model: String,
    /// `--gpus`.
    pub(crate) gpus: Option<String>,
    /// `--backend`.
    pub(crate) backend: String,
    /// `--tp`.
    pub(crate) tp: Vec<u32>,
    /// `--concurrency`.
    pub(crate) concurrency: u32,
    /// `--requests`.
    pub(crate) requests: u32,
    /// `--input-tokens`.
    pub(crate) input_tokens: u32,
    /// `--output-tokens`.
    pub(crate) output_tokens: u32,
    /// `--sim`.
    pub(crate) sim: Option<String>,
    /// `--base-url`, each with its size.
    pub(crate) base_url: Vec<String>,
    /// The server command.
    pub(crate) server: Vec<String>,
}

/// The version that is written.
pub(crate) const SCHEMA: u32 = 1;

pub(super) const FILE: &str = "study.json";

impl Settings {
    /// Begins a study in a folder, or finds that the folder holds this very study; `true` where it goes on.
    ///
    /// # Errors
    /// As [`keep`].
    pub(crate) fn keep(&self, folder: &Path) -> Result<bool, Stop> {
        keep(self, folder, FILE, "a study")
    }
}

/// Begins `what`, such as a study, in a folder, whose settings are in `file`, or finds that the folder holds just that; `true`
/// where it goes on.
///
/// # Errors
/// The folder holds other settings, or something else, or cannot be written; in words.
pub(crate) fn keep<T: Serialize + DeserializeOwned>(
    settings: &T,
    folder: &Path,
    file: &str,
    what: &str,
) -> Result<bool, Stop> {
    let file = folder.join(file);
    if !file.exists() {
        let has_something = folder
            .read_dir()
            .is_ok_and(|mut entries| entries.next().is_some());
        if has_something {
            return Err(Stop::Usage(format!(
                "{} holds something else than {what}; choose another folder with --out",
                folder.display()
            )));
        }
        outputs::make_folder("--out", folder)?;
        let text = serde_json::to_string_pretty(settings).map_err(anyhow::Error::from)?;
        write_whole(&file, (text + "\n").as_bytes()).map_err(anyhow::Error::from)?;
        return Ok(false);
    }
    let text = bounded::text(&file, bounded::SETTINGS)
        .map_err(|error| Stop::Usage(format!("cannot read {}: {error}", file.display())))?;
    let kept: T = serde_json::from_str(&text).map_err(|error| {
        Stop::Usage(format!(
            "{} is not {what} of this version: {error}; choose another folder with --out",
            file.display()
        ))
    })?;
    match differs(&kept, settings) {
        None => Ok(true),
        Some((name, was, is)) => Err(Stop::Usage(format!(
            "{} holds {what} with {name} {was}, not {is}; go on with the same settings, or choose another folder with --out",
            folder.display()
        ))),
    }
}

/// The first setting that differs: its name and both values as JSON.
fn differs<T: Serialize>(kept: &T, given: &T) -> Option<(String, String, String)> {
    let (Ok(serde_json::Value::Object(was)), Ok(is)) =
        (serde_json::to_value(kept), serde_json::to_value(given))
    else {
        return None;
    };
    was.into_iter().find_map(|(name, was)| {
        let is = is.get(&name)?;
        (was != *is).then(|| {
            (
                format!("--{}", name.replace('_', "-")),
                was.to_string(),
                is.to_string(),
            )
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(concurrency: u32) -> Settings {
        Settings {
            schema: SCHEMA,
            model: "m".to_owned(),
            gpus: None,
            backend: "auto".to_owned(),
            tp: vec![1, 2],
            concurrency,
            requests: 1,
            input_tokens: 1,
            output_tokens: 2,
            sim: None,
            base_url: Vec::new(),
            server: vec!["s".to_owned()],
        }
    }

    #[test]
    fn a_folder_goes_on_with_its_own_study_and_no_other() {
        let folder = std::env::temp_dir().join(format!("tplens-settings-{}", std::process::id()));
        assert!(!settings(16).keep(&folder).unwrap());
        assert!(settings(16).keep(&folder).unwrap());
        let Err(Stop::Usage(refused)) = settings(8).keep(&folder) else {
            panic!("another study went on");
        };
        assert!(refused.contains("--concurrency 16, not 8"), "{refused}");
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_folder_of_something_else_is_left_alone() {
        let folder =
            std::env::temp_dir().join(format!("tplens-settings-other-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("thesis.txt"), "mine").unwrap();
        let kept = settings(16).keep(&folder);
        assert!(matches!(kept, Err(Stop::Usage(why)) if why.contains("--out")));
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
