//! What a file that was given is: a record of ours, or the text of another tool, in bounded memory.

use std::path::Path;

use bounded::{RECORD, RESULT, TEXT};

use super::error::ImportError;
use record::{FolderError, Record, load, read_text};

/// What a file is.
pub(super) enum Source {
    /// A record, journal or result folder of this project.
    Ours(Box<Record>),
    /// Anything else.
    Text(String),
}

impl Source {
    /// Reads a file or a result folder, which messages call `origin`.
    ///
    /// # Errors
    /// It cannot be read, is no whole record, or is larger than a file of another tool.
    pub(super) fn of(path: &Path, origin: &str) -> Result<Self, ImportError> {
        if path.is_dir() {
            return Ok(Self::Ours(Box::new(load(path)?)));
        }
        let text = read_text(path, RECORD)?;
        if let Some(record) = Record::from_text(&text, origin)? {
            return Ok(Self::Ours(Box::new(record)));
        }
        let is_json = is_json(&text);
        let most = if is_json { RESULT } else { TEXT };
        if text.len() as u64 > most {
            return Err(too_large(path, most).into());
        }
        Ok(Self::Text(match is_json {
            true => text,
            false => bounded::pasted::lines(&text).join("\n"),
        }))
    }
}

/// Whether a text begins as JSON; tags of mpirun begin as a list does.
pub(super) fn is_json(text: &str) -> bool {
    let text = text.trim_start();
    let inside = text.strip_prefix('[').map(str::trim_start);
    text.starts_with('{') || inside.is_some_and(|rest| rest.starts_with('{'))
}

/// The text of a table, such as CSV.
pub(super) fn table(path: &Path) -> Result<String, FolderError> {
    read_text(path, TEXT)
}

fn too_large(path: &Path, most: u64) -> FolderError {
    FolderError::Io {
        doing: "cannot read",
        path: path.to_owned(),
        source: bounded::too_large(most),
    }
}
