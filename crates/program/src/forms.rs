//! A record on standard output: as a document, as CSV, or in another tool's form; one that this run made, or one that is on the disk.

use std::path::Path;

use record::{Record, exit};
use view::Document;

use crate::compare::CompareFlags;
use crate::outputs::{Csv, print, told};
use crate::say;
use crate::show::Show;

/// A record in another tool's form.
pub struct Exported {
    /// The form.
    pub text: String,
    /// What it has no place for, a line each.
    pub left_out: Vec<String>,
}

/// Makes another tool's form of a record, or says why there is none of it.
pub type Export = fn(&Record) -> Result<Exported, String>;

/// Prints a record as a document, or in another tool's form where one was asked for, and gives the exit code.
#[must_use]
pub fn shown(record: &Record, export: Option<Export>, show: Show) -> u8 {
    let Some(export) = export else {
        return show.print(&view::record(record));
    };
    match export(record) {
        Ok(made) => {
            for line in &made.left_out {
                say!("left out: {line}");
            }
            print(&made.text)
        }
        Err(error) => {
            say!("error: {error}");
            exit::USAGE
        }
    }
}

/// Prints what an earlier run measured, and gives the exit code; `foreign` reads another tool's file, and says whether it has numbers.
pub fn saved(
    path: &Path,
    (as_csv, csv): (bool, Csv),
    export: Option<Export>,
    foreign: impl FnOnce(&Path) -> Result<(Document, bool), String>,
    show: Show,
) -> u8 {
    match record::load(path) {
        Ok(record) if as_csv => print(&csv(&record)),
        Ok(record) => shown(&record, export, show),
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
