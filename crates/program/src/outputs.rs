//! What a run leaves beside its folder: the tables on standard output, and the JSON and CSV that were asked for.
//!
//! Texts of this project reach a terminal through [`print`], [`printed`] and [`line`] alone, which escape with [`visible`].

use std::fmt;
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use measure::control::visible;
use measure::exit;
use measure::import::links::is_of_nvbandwidth;
use measure::private;
use measure::record::{Record, Status, load, record_json, write_whole};

use crate::compare::Compared;
use crate::places::Place;
use crate::recorder::Ended;
use crate::stop::Stop;

pub use crate::places::{check_apart, check_file, check_folder, check_not_read, make_folder};

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

/// How a program shows its records.
#[derive(Debug, Clone, Copy)]
pub struct Rendering {
    /// As tables.
    pub text: fn(&Record) -> String,
    /// As CSV.
    pub csv: fn(&Record) -> String,
}

impl Outputs {
    /// Whether what is to be written can be, before anything is measured.
    ///
    /// # Errors
    /// Names the file whose folder does not exist or cannot be written, or both outputs where both want the same place.
    pub fn check(&self) -> Result<(), String> {
        self.check_with(None)
    }

    /// The same with a further folder, by its flag.
    ///
    /// # Errors
    /// As [`Self::check`].
    pub fn check_with(&self, folder: Option<(&str, &Path)>) -> Result<(), String> {
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
        for (flag, path) in out.into_iter().chain(folder) {
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
        match (file(&self.json), json(record)) {
            (Some(path), text) => write(path, text),
            (None, Ok(text)) => print(&text),
            (None, Err(error)) => {
                say!("error: {error}");
                exit::INTERNAL
            }
        }
    }

    /// Writes the files that were asked for, prints the tables, says where the rest is, and gives the exit code.
    ///
    /// The tables come last, so that the exit code in their last line is the one that is returned.
    #[must_use]
    pub fn finish(&self, ended: &Ended, rendering: Rendering) -> u8 {
        let record = &ended.record;
        let mut codes = vec![record.exit_code];
        if let Some(error) = &ended.failed {
            say!("error: {}", told(error));
            codes.push(exit::INTERNAL);
        }
        if let Some(path) = file(&self.json) {
            codes.push(write(path, json(record)));
        }
        if let Some(path) = file(&self.csv) {
            codes.push(write(path, Ok((rendering.csv)(record))));
        }
        let returned = Record {
            exit_code: exit::fold(codes.iter().copied()),
            ..record.clone()
        };
        let shown = match &record.status {
            Status::Refused { reason } => {
                say!("nothing was measured: {reason}");
                None
            }
            _ if is_stdout(&self.json) => Some(json(record)),
            _ if is_stdout(&self.csv) => Some(Ok((rendering.csv)(record))),
            _ => Some(Ok((rendering.text)(&returned))),
        };
        match shown {
            Some(Ok(text)) => codes.push(print(&text)),
            Some(Err(error)) => {
                say!("error: {error}");
                codes.push(exit::INTERNAL);
            }
            None => {}
        }
        let program = std::env::args_os().next().unwrap_or_default();
        let (folder, program) = (ended.folder.display(), Path::new(&program).display());
        say!("result: {folder}; `{program} show {folder}` prints it again");
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
        if is_of_nvbandwidth(path) {
            say!(
                "error: {} has nvbandwidth's form, which `p2p-bw compare` reads; give a record of ours",
                path.display()
            );
        } else {
            say!("error: {error}");
        }
        exit::USAGE
    })
}

/// Prints what an earlier run measured, and gives the exit code.
#[must_use]
pub fn show(record: &Record, as_csv: bool, rendering: Rendering) -> u8 {
    print(&if as_csv {
        (rendering.csv)(record)
    } else {
        (rendering.text)(record)
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

/// An error with its causes, each told once: the words of many errors hold those of their cause already.
#[must_use]
pub fn told(error: &anyhow::Error) -> String {
    let mut text = String::new();
    for cause in error.chain() {
        let words = cause.to_string();
        if text.is_empty() {
            text = words;
        } else if !text.contains(&words) {
            text = format!("{text}: {words}");
        }
    }
    text
}

/// The record as JSON text.
fn json(record: &Record) -> Result<String, String> {
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

/// Writes pictures into their folder, which is made where it is not there, and gives the exit code.
#[must_use]
pub fn pictures(folder: Option<&Path>, pictures: Vec<(PathBuf, String)>) -> u8 {
    if let Some(folder) = folder
        && let Err(error) = private::make_folders(folder)
    {
        say!(
            "error: cannot make the folder {}: {error}",
            folder.display()
        );
        return exit::INTERNAL;
    }
    let pictures = pictures.into_iter();
    exit::fold(pictures.map(|(path, svg)| write(&path, Ok(svg))))
}

/// Prints a comparison, writes its file, and gives the exit code.
#[must_use]
pub fn compared(compared: anyhow::Result<Compared>) -> u8 {
    match compared {
        Ok(compared) => {
            let written = compared.file.map(|(path, json)| write(&path, Ok(json)));
            exit::fold([
                print(&compared.shown),
                written.unwrap_or(exit::DONE),
                compared.exit_code,
            ])
        }
        Err(error) => {
            say!("error: {}", told(&error));
            exit::USAGE
        }
    }
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
    use anyhow::Context;
    use measure::record::FolderError;

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
