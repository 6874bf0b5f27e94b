//! Where an explanation goes: the screen, JSON and a page.

use std::path::Path;

use ::explain::{Explanation, Outcome};
use program::show::Show;
use program::{Stop, outputs};
use record::{exit, write_whole};
use serde::Serialize;
use view::Document;

use super::args::ExplainArgs;
use crate::json;

/// The page's file name in a folder.
pub(crate) const PAGE: &str = "report.html";

/// The explanation's file name in a folder.
pub(super) const EXPLANATION: &str = "explanation.json";

/// Seed of the draws, so that the same files give the same explanation.
pub(super) const SEED: u64 = 0x0074_706c_656e_7331;

/// Writes JSON and pages, and prints what was wanted.
pub(super) fn deliver<T: Serialize>(
    args: &ExplainArgs,
    show: Show,
    name: &str,
    found: &T,
    document: &Document,
    code: u8,
) -> Result<u8, Stop> {
    if let Some(folder) = &args.out {
        outputs::make_folder("--out", folder)?;
        json::write(&folder.join(name), found)?;
        write(&folder.join(PAGE), &document.html())?;
    }
    Ok(exit::fold([
        outputs::with_json(show, document, found, args.from.case.json.as_deref()),
        crate::show::page(args.html.as_deref(), document),
        code,
    ]))
}

pub(super) fn code(explanation: &Explanation) -> u8 {
    match &explanation.outcome {
        // Times that do not fit attribute no communication.
        Outcome::Attributed { attribution, .. } if attribution.misfit().is_some() => {
            exit::INCONCLUSIVE
        }
        Outcome::Attributed { .. } => exit::DONE,
        Outcome::Refused { .. } => exit::INCONCLUSIVE,
    }
}

pub(super) fn write(file: &Path, text: &str) -> Result<(), Stop> {
    write_whole(file, text.as_bytes()).map_err(|error| Stop::Internal(error.into()))
}
