//! The child that loads a collective library and lets it say what it is: a library may hang or crash where its driver is missing.

use std::path::PathBuf;

use device::collectives::{Inspection, inspect};
use inventory::Built;
use program::child::Line;
use serde::{Deserialize, Serialize};

/// The hidden subcommand.
pub(crate) const CHILD: &str = "__library";

/// Asks what a library is.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct LibraryRequest {
    pub(crate) backend: Built,
    /// Its file, or a folder that has it; `None` for the first that is found.
    pub(crate) path: Option<PathBuf>,
}

/// What it says.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub(crate) enum LibraryReply {
    /// It was loaded.
    Told { inspection: Box<Inspection> },
    /// It was not.
    NotTold { reason: String },
}

/// Asks the library and answers the parent, once.
///
/// # Errors
/// The pipes broke, or the request was not understood.
pub(crate) fn run() -> anyhow::Result<()> {
    let mut line: Line<LibraryRequest> = Line::open()?;
    let Some(LibraryRequest { backend, path }) = line.request()? else {
        return Ok(());
    };
    line.send(&match inspect(backend, path.as_deref()) {
        Ok(inspection) => LibraryReply::Told {
            inspection: Box::new(inspection),
        },
        Err(error) => LibraryReply::NotTold {
            reason: error.to_string(),
        },
    })
}
