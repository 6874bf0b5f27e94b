//! What a run is about: written into its folder when it begins, so that only the same command resumes it.

use std::path::Path;

use record::write_whole;
use serde::Serialize;
use serde_json::{Map, Value};

use super::error::RunError;
use super::lock::LOCK;

/// Whether a folder can hold a run of `what`, whose settings are in `file`: it is not there, is empty, or holds one already.
///
/// # Errors
/// It holds something else.
pub(super) fn check_folder(folder: &Path, file: &str, what: &'static str) -> Result<(), RunError> {
    if folder.join(file).exists() {
        return Ok(());
    }
    let mut entries = folder.read_dir().into_iter().flatten().flatten();
    // A run that is killed at its very beginning leaves its settings half written.
    let half_written = format!(".{file}.");
    let is_of_a_run = |name: &str| name == LOCK || name.starts_with(&half_written);
    match entries.any(|entry| !is_of_a_run(&entry.file_name().to_string_lossy())) {
        false => Ok(()),
        true => Err(RunError::Foreign {
            folder: folder.to_owned(),
            what,
        }),
    }
}

/// Writes the settings of a run of `what` into its folder, or finds that they are there; `true` where they are, and it is resumed.
///
/// # Errors
/// The folder holds other settings, or cannot be read or written.
pub(super) fn keep(
    settings: &impl Serialize,
    folder: &Path,
    file: &str,
    what: &'static str,
) -> Result<bool, RunError> {
    let path = folder.join(file);
    let unreadable = |reason: String| RunError::Settings {
        file: path.clone(),
        what,
        reason,
    };
    let given = serde_json::to_value(settings).map_err(|error| unreadable(error.to_string()))?;
    if !path.exists() {
        write_whole(&path, format!("{given:#}\n").as_bytes())?;
        return Ok(false);
    }
    let text = bounded::text(&path, bounded::SETTINGS);
    let text = text.map_err(|error| unreadable(error.to_string()))?;
    let kept = serde_json::from_str(&text).map_err(|error| unreadable(error.to_string()))?;
    match differs(&kept, &given) {
        None => Ok(true),
        Some((name, was, is)) => Err(RunError::Differs {
            folder: folder.to_owned(),
            what,
            flag: format!("--{}", name.replace('_', "-")),
            was: was.to_string(),
            is: is.to_string(),
        }),
    }
}

/// The first setting that differs, with both values.
fn differs<'a>(
    kept: &'a Map<String, Value>,
    given: &'a Value,
) -> Option<(&'a str, &'a Value, &'a Value)> {
    let now = given.as_object()?;
    let mut names = kept.keys().chain(now.keys());
    names.find_map(|name| {
        let was = kept.get(name).unwrap_or(&Value::Null);
        let is = now.get(name).unwrap_or(&Value::Null);
        (was != is).then_some((name.as_str(), was, is))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(input_tokens: u32) -> Value {
        serde_json::json!({"model": "m", "input_tokens": input_tokens})
    }

    fn scratch(name: &str) -> std::path::PathBuf {
        std::env::temp_dir().join(format!("runner-settings-{name}-{}", std::process::id()))
    }

    #[test]
    fn a_folder_resumes_its_own_run_and_no_other() {
        let folder = scratch("own");
        std::fs::create_dir_all(&folder).unwrap();
        let keep = |tokens| keep(&settings(tokens), &folder, "s.json", "a study");
        assert!(!keep(16).unwrap());
        assert!(keep(16).unwrap());
        let Err(RunError::Differs { flag, was, is, .. }) = keep(8) else {
            panic!("another run was resumed");
        };
        assert_eq!([flag, was, is], ["--input-tokens", "16", "8"]);
        std::fs::write(folder.join("s.json"), "[]").unwrap();
        assert!(matches!(keep(16), Err(RunError::Settings { .. })));
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_folder_of_something_else_is_left_alone() {
        let folder = scratch("other");
        let check = || check_folder(&folder, "s.json", "a study");
        assert!(check().is_ok());
        std::fs::create_dir_all(&folder).unwrap();
        for own in [LOCK, ".s.json.7.new"] {
            std::fs::write(folder.join(own), "").unwrap();
            assert!(check().is_ok(), "{own}");
        }
        std::fs::write(folder.join("thesis.txt"), "mine").unwrap();
        assert!(matches!(check(), Err(RunError::Foreign { .. })));
        std::fs::write(folder.join("s.json"), "").unwrap();
        assert!(check().is_ok());
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
