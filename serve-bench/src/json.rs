//! Files of JSON, written whole or not at all.

use std::path::Path;

use program::Stop;
use record::write_whole;
use serde::Serialize;
use serde_json::Value;

/// Writes a value over several lines.
///
/// # Errors
/// The file cannot be written.
pub(crate) fn write<T: Serialize>(file: &Path, value: &T) -> Result<(), Stop> {
    let text = serde_json::to_string_pretty(value).map_err(anyhow::Error::from)?;
    let written = write_whole(file, (text + "\n").as_bytes());
    written.map_err(|error| Stop::Internal(error.into()))
}

/// What a file of our own holds, of at most so many bytes; `None` where it is not there or cannot be read.
pub(crate) fn read(file: &Path, most: u64) -> Option<Value> {
    serde_json::from_str(&bounded::text(file, most).ok()?).ok()
}
