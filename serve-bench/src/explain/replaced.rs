//! What `--out` may replace: an explanation of this program and its page, and nothing else.

use std::path::Path;

use serde::Deserialize;
use serde::de::IgnoredAny;

use super::{EXPLANATION, PAGE};

/// What all forms of an explanation hold, of whatever version.
#[derive(Deserialize)]
struct AnyForm {
    #[serde(rename = "schema")]
    _schema: u32,
    #[serde(rename = "model")]
    _model: String,
    #[serde(rename = "inputs")]
    _inputs: Vec<IgnoredAny>,
    #[serde(rename = "findings")]
    _findings: Vec<IgnoredAny>,
    #[serde(rename = "outcome")]
    _outcome: IgnoredAny,
}

/// Whether an explanation may be written into the folder.
///
/// # Errors
/// Names the file of somebody else that it would replace.
pub(super) fn check(folder: &Path) -> Result<(), String> {
    let (json, page) = (folder.join(EXPLANATION), folder.join(PAGE));
    let has_own = bounded::read(&json, bounded::RESULT)
        .is_ok_and(|text| serde_json::from_slice::<AnyForm>(&text).is_ok());
    let foreign = |file: &Path, why: &str| {
        Err(format!(
            "--out: {} {why}, and would be replaced; choose another folder, or move it away",
            file.display()
        ))
    };
    let is_there = |file: &Path| file.symlink_metadata().is_ok();
    match (has_own, is_there(&json), is_there(&page)) {
        (true, ..) | (false, false, false) => Ok(()),
        (false, true, _) => foreign(&json, "is no explanation of this program"),
        (false, false, true) => foreign(&page, "has no explanation of this program beside it"),
    }
}
