//! What a run leaves beside its folder: the tables on standard output, and the JSON and CSV that were asked for.
//!
//! Texts of this project reach a terminal through [`print`], [`printed`] and [`line`] alone, which escape with [`visible`].

use std::fmt;
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::Args;
use record::control::visible;
use record::exit;
use record::{Record, Status, load, record_json, write_whole};
use runner::Interrupt;
use serde::Serialize;
use view::Document;

use crate::compare::CompareFlags;
use crate::places::Place;
use crate::recorder::Ended;
use crate::show::Show;
use crate::stop::Stop;

pub use crate::places::{check_apart, check_file, check_folder, check_not_read, make_folder};
pub use crate::stop::told;

/// A line on standard error. That nobody reads it must not end a run, as `eprintln!` would.
#[macro_export]
macro_rules! say {
    ($($what:tt)*) => {
        $crate::outputs::line(::std::format_args!($($what)*))
    };
}

/// What [`say!`] does.
pub fn line(words: fmt::Arguments<'_>) {
    let text = format!("{words}\n");
    drop(io::stderr().write_all(visible(&text).as_bytes()));
}

/// Makes the CSV of a record.
pub type Csv = fn(&Record) -> String;

/// Where a run's results go.
#[derive(Debug, Clone, Args)]
pub struct Outputs {
    /// Write the record to this file as JSON, too; `-` for standard output instead of the tables.
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,

    /// Write the numbers to this file as CSV, too; `-` for standard output instead of the tables.
    #[arg(long, value_name = "FILE")]
    pub csv: Option<PathBuf>,

    /// Result folder with journal and record. Default: a new one under tplens-results.
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
}

impl Outputs {
    /// Whether JSON or CSV goes to standard output instead of the tables.
    #[must_use]
    pub fn takes_stdout(&self) -> bool {
        is_stdout(&self.json) || is_stdout(&self.csv)
    }

    /// Whether what is to be written can be, before anything is measured.
    ///
    /// # Errors
    /// Names the file whose folder does not exist or cannot be written, or both outputs where both want the same place.
    pub fn check(&self) -> Result<(), String> {
        if is_stdout(&self.json) && is_stdout(&self.csv) {
            return Err(
                "--json - and --csv - both want standard output; give one of them a file"
                    .to_owned(),
            );
        }
        let mut files: Vec<Place<'_>> = Vec::new();
        for (flag, path) in [("--json", &self.json), ("--csv", &self.csv)] {
            if let Some(path) = file(path) {
                check_file(flag, path)?;
                files.push((flag, path.to_owned()));
            }
        }
        let out = self.out.as_deref().map(|out| ("--out", out));
        let mut folders: Vec<Place<'_>> = Vec::new();
        if let Some((flag, path)) = out {
            check_folder(flag, path)?;
            folders.push((flag, path.to_owned()));
        }
        if let Some((_, out)) = out {
            let kept =
                ["journal.jsonl", "record.json"].map(|name| ("the result folder", out.join(name)));
            files.extend(kept);
        }
        check_apart(&files, &folders)
    }

    /// Writes a record in which nothing was measured as JSON to where it was asked for, and gives the exit code.
    #[must_use]
    pub fn only_json(&self, record: &Record) -> u8 {
        match (file(&self.json), record_text(record)) {
            (Some(path), text) => write(path, text),
            (None, Ok(text)) => print(&text),
            (None, Err(error)) => {
                say!("error: {error}");
                exit::INTERNAL
            }
        }
    }

    /// Writes the files that were asked for, shows the record, says where the rest is and last what went wrong, which a program that
    /// started this one shows; and gives the exit code.
    #[must_use]
    pub fn finish(&self, ended: &Ended, csv: Csv, show: Show) -> u8 {
        self.finish_with(ended, csv, &|record| show.print(&view::record(record)))
    }

    /// The same, with a way of its own to show it.
    #[must_use]
    pub fn finish_with(&self, ended: &Ended, csv: Csv, show: &dyn Fn(&Record) -> u8) -> u8 {
        let record = &ended.record;
        let mut codes = vec![record.exit_code];
        if ended.failed.is_some() {
            codes.push(exit::INTERNAL);
        }
        if let Some(path) = file(&self.json) {
            codes.push(write(path, record_text(record)));
        }
        if let Some(path) = file(&self.csv) {
            codes.push(write(path, Ok(csv(record))));
        }
        let returned = Record {
            exit_code: exit::fold(codes.iter().copied()),
            ..record.clone()
        };
        codes.push(match &record.status {
            Status::Refused { .. } => exit::DONE,
            _ if is_stdout(&self.json) => match record_text(record) {
                Ok(text) => print(&text),
                Err(error) => {
                    say!("error: {error}");
                    exit::INTERNAL
                }
            },
            _ if is_stdout(&self.csv) => print(&csv(record)),
            _ => show(&returned),
        });
        let folder = ended.folder.display();
        say!("result: {folder}; `tplens show {folder}` prints it again");
        if let Status::Refused { reason } = &record.status {
            say!("nothing was measured: {reason}");
        }
        if let Some(error) = &ended.failed {
            say!("error: {}", told(error));
        }
        exit::fold(codes)
    }
}

fn is_stdout(path: &Option<PathBuf>) -> bool {
    path.as_deref() == Some(Path::new("-"))
}

fn file(path: &Option<PathBuf>) -> Option<&Path> {
    path.as_deref().filter(|path| *path != Path::new("-"))
}

/// Loads what an earlier run measured, or says why it cannot and gives the exit code.
///
/// # Errors
/// The exit code, where there is no record.
pub fn opened(path: &Path) -> Result<Record, u8> {
    load(path).map_err(|error| {
        say!("error: {error}");
        exit::USAGE
    })
}

/// Says why a run ended before it had a record, and gives the exit code.
#[must_use]
pub fn stopped(stop: &Stop) -> u8 {
    match stop {
        Stop::Usage(reason) => {
            say!("error: {reason}");
            exit::USAGE
        }
        Stop::Refused(reason) => {
            say!("nothing was measured: {reason}");
            exit::INCONCLUSIVE
        }
        Stop::Internal(error) => {
            say!("error: {}", told(error));
            exit::INTERNAL
        }
        Stop::Interrupted(signal) => signal.exit_code(),
    }
}

/// The exit code of what may have stopped, with the reason said.
#[must_use]
pub fn ended(outcome: Result<u8, Stop>) -> u8 {
    outcome.unwrap_or_else(|stop| stopped(&stop))
}

/// The exit code of a worker, with its error said.
#[must_use]
pub fn worked(outcome: anyhow::Result<()>) -> u8 {
    match outcome {
        Ok(()) => exit::DONE,
        Err(error) => {
            say!("{error:#}");
            exit::INTERNAL
        }
    }
}

/// Runs what may be told to stop, and gives the exit code.
pub fn interruptible(run: impl FnOnce(&Interrupt) -> Result<u8, Stop>) -> u8 {
    match Interrupt::install() {
        Ok(interrupt) => ended(run(&interrupt)),
        Err(error) => {
            say!("error: cannot catch signals: {error}");
            exit::INTERNAL
        }
    }
}

/// The record as JSON text.
fn record_text(record: &Record) -> Result<String, String> {
    let json = record_json(record).map_err(|error| error.to_string())?;
    let text = String::from_utf8(json).map_err(|error| error.to_string())?;
    Ok(text + "\n")
}

/// Writes a file whole or not at all, says what went wrong, and gives the exit code.
#[must_use]
pub fn write(path: &Path, text: Result<String, String>) -> u8 {
    let written =
        text.and_then(|text| write_whole(path, text.as_bytes()).map_err(|error| error.to_string()));
    match written {
        Ok(()) => exit::DONE,
        Err(error) => {
            say!("error: {error}");
            exit::INTERNAL
        }
    }
}

/// Prints a comparison, or its JSON where that was asked for, and gives the exit code.
///
/// # Errors
/// It has no JSON.
pub fn comparison(
    flags: &CompareFlags,
    comparison: &impl Serialize,
    (document, show): (&Document, Show),
    exit_code: u8,
) -> anyhow::Result<u8> {
    let written = with_json(show, document, comparison, flags.json.as_deref());
    Ok(exit::fold([written, exit_code]))
}

/// Prints a document and writes what it was made of as JSON where a file is named, and gives the exit code; with `-` the JSON is
/// printed instead.
#[must_use]
pub fn with_json(
    show: Show,
    document: &Document,
    data: &impl Serialize,
    file: Option<&Path>,
) -> u8 {
    let json = serde_json::to_string_pretty(data).map(|text| text + "\n");
    match (file, json.map_err(|error| error.to_string())) {
        (None, _) => show.print(document),
        (Some(file), Ok(json)) if file == Path::new("-") => print(&json),
        (Some(file), json) => exit::fold([write(file, json), show.print(document)]),
    }
}

/// Prints a value as JSON, and gives the exit code.
///
/// # Errors
/// It has none.
pub fn json(value: &impl Serialize) -> Result<u8, Stop> {
    let text = serde_json::to_string_pretty(value).context("writing JSON")?;
    Ok(print(&(text + "\n")))
}

/// Prints on standard output, and gives the exit code.
///
/// A reader that went away, as with `| head`, is no failure; a full disk behind standard output is.
#[must_use]
pub fn print(text: &str) -> u8 {
    match printed(text) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            say!("error: cannot write to standard output: {error}");
            exit::INTERNAL
        }
        _ => exit::DONE,
    }
}

/// Writes a text on standard output, at once.
///
/// # Errors
/// The reader went away, or the disk behind it is full.
pub fn printed(text: &str) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(visible(text).as_bytes())?;
    stdout.flush()
}

#[cfg(test)]
mod tests {
    use record::FolderError;

    use super::*;

    #[test]
    fn each_cause_of_an_error_is_told_once() {
        let full = || FolderError::Io {
            doing: "cannot write",
            path: "/dev/full".into(),
            source: std::io::Error::other("no space left"),
        };
        // The error's own words hold its cause.
        let error = anyhow::Error::from(full());
        assert_eq!(told(&error), "cannot write /dev/full: no space left");
        let error = Err::<(), _>(full()).context("keeping the ablation");
        assert_eq!(
            told(&error.unwrap_err()),
            "keeping the ablation: cannot write /dev/full: no space left"
        );
    }
}
