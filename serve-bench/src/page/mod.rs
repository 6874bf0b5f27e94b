//! Pages: one run with its distributions and what went on over time, and several results against each other.

mod by_load;
mod found;
mod labels;
mod run;
mod several;
mod shapes;
mod timeline;

use std::path::{Path, PathBuf};

use measure::exit;
use measure::record::Record;
use program::outputs::{self, check_file};
use program::say;

use crate::compare::of_several;

/// What is to stand on a page of several results.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct PageArgs {
    /// Result folders, folders of such folders, or other clients' files.
    #[arg(required = true, value_name = "DIR|FILE")]
    paths: Vec<PathBuf>,

    /// The page's file.
    #[arg(long, value_name = "FILE")]
    html: PathBuf,
}

/// Writes the page of a run, and gives the exit code.
pub(crate) fn write(path: &Path, record: &Record) -> u8 {
    let Some(page) = run::page(record) else {
        say!(
            "error: {} holds no serving benchmark, which alone has such a page",
            record.payload.kind()
        );
        return exit::USAGE;
    };
    outputs::write(path, Ok(page.html()))
}

/// Writes the page of a run that is on the disk, and gives the exit code.
pub(crate) fn show(paths: &[PathBuf], html: &Path) -> u8 {
    let [path] = paths else {
        say!("error: --html writes the page of one run; several are one with `serve-bench page`");
        return exit::USAGE;
    };
    if let Err(reason) = check_file("--html", html) {
        say!("error: {reason}");
        return exit::USAGE;
    }
    // What is wrong with a sweep's folder is said by what prints it.
    if of_several(path).is_some() {
        return exit::USAGE;
    }
    outputs::opened(path).map_or_else(|code| code, |record| write(html, &record))
}

/// Writes the page of several results, and gives the exit code.
pub(crate) fn several(args: &PageArgs) -> u8 {
    if let Err(reason) = check_file("--html", &args.html) {
        say!("error: {reason}");
        return exit::USAGE;
    }
    let (results, refused) = found::found(&args.paths);
    for reason in &refused {
        say!("left out: {reason}");
    }
    if results.is_empty() {
        say!("error: none of these holds a serving result that can be drawn");
        return exit::USAGE;
    }
    let written = outputs::write(&args.html, Ok(several::page(&results, &refused).html()));
    // What was left out is missing from every curve.
    let whole = if refused.is_empty() {
        exit::DONE
    } else {
        exit::INCONCLUSIVE
    };
    exit::fold([written, whole])
}
