//! A record on standard output: that is on the disk, as a document or as CSV.

use std::path::Path;

use record::exit;
use view::Document;

use crate::compare::CompareFlags;
use crate::outputs::{Csv, print, told};
use crate::say;
use crate::show::Show;

/// Prints what an earlier run measured, and gives the exit code; `foreign` reads another tool's file, and says whether it has numbers.
pub fn saved(
    path: &Path,
    (as_csv, csv): (bool, Csv),
    foreign: impl FnOnce(&Path) -> Result<(Document, bool), String>,
    show: Show,
) -> u8 {
    match record::load(path) {
        Ok(record) if as_csv => print(&csv(&record)),
        Ok(record) => show.print(&view::record(&record)),
        Err(_) => match foreign(path) {
            Ok((document, has_numbers)) => {
                let empty = (!has_numbers).then_some(exit::INCONCLUSIVE);
                exit::fold(empty.into_iter().chain([show.print(&document)]))
            }
            Err(error) => {
                say!("error: {error}");
                exit::USAGE
            }
        },
    }
}

/// Compares two files, and gives the exit code.
pub fn compared(flags: &CompareFlags, run: impl FnOnce() -> anyhow::Result<u8>) -> u8 {
    let code = flags
        .check()
        .and_then(|()| run().map_err(|error| told(&error)));
    code.unwrap_or_else(|error| {
        say!("error: {error}");
        exit::USAGE
    })
}
