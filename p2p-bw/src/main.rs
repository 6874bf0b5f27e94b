//! `p2p-bw`: measures the links of a GPU box. Reads the command line, prints, and returns the exit code; the work is
//! done in `parent` and its children.

#![forbid(unsafe_code)]

mod cases;
mod children;
mod cli;
mod messages;
mod parent;

use std::io::{ErrorKind, Write};
use std::path::Path;
use std::process::ExitCode;

use clap::Parser;
use measure::exit;
use measure::record::{Record, Status, load, write_whole};
use measure::render::{csv, text};
use supervisor::Interrupt;

use crate::children::Child;
use crate::cli::{Cli, Command, RunArgs};
use crate::parent::{Ended, Outcome, Stop};

/// A line on standard error. That nobody reads it must not end a run, as `eprintln!` would.
macro_rules! say {
    ($($what:tt)*) => {{
        let _ = writeln!(std::io::stderr(), $($what)*);
    }};
}

fn main() -> ExitCode {
    if let Some(child) = std::env::args().nth(1).as_deref().and_then(Child::of) {
        return match children::run(child) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                say!("{error:#}");
                ExitCode::from(exit::INTERNAL)
            }
        };
    }
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            // clap's own codes: 0 for --help and --version, 2 for a wrong command line.
            let code = u8::try_from(error.exit_code()).unwrap_or(exit::USAGE);
            if code == exit::DONE {
                let _ = error.print();
                return ExitCode::from(code);
            }
            say!("{}", cli::one_line(&error.render().to_string()));
            return ExitCode::from(code);
        }
    };
    ExitCode::from(match cli.command {
        Some(Command::Show { path, csv }) => show(&path, csv),
        None => measure(&cli.run),
    })
}

fn show(path: &Path, as_csv: bool) -> u8 {
    match load(path) {
        Ok(record) => print(&if as_csv {
            csv::links(&record)
        } else {
            text::links(&record)
        }),
        Err(error) => {
            say!("error: {error}");
            exit::USAGE
        }
    }
}

fn measure(args: &RunArgs) -> u8 {
    let interrupt = match Interrupt::install() {
        Ok(interrupt) => interrupt,
        Err(error) => {
            say!("error: cannot catch signals: {error}");
            return exit::INTERNAL;
        }
    };
    match parent::run(args, &interrupt, &|line| say!("{line}")) {
        Ok(Outcome::Listed(text)) => print(&text),
        Ok(Outcome::Ended(ended)) => finish(args, &ended),
        Err(Stop::Usage(reason)) => {
            say!("error: {reason}");
            exit::USAGE
        }
        Err(Stop::Refused(reason)) => {
            say!("nothing was measured: {reason}");
            exit::INCONCLUSIVE
        }
        Err(Stop::Internal(error)) => {
            say!("error: {error:#}");
            exit::INTERNAL
        }
        Err(Stop::Interrupted(signal)) => signal.exit_code(),
    }
}

/// Prints the tables, writes the files that were asked for, and says where the rest is.
fn finish(args: &RunArgs, ended: &Ended) -> u8 {
    let record = &ended.record;
    let csv_instead = args.csv.as_deref() == Some(Path::new("-"));
    let mut codes = vec![record.exit_code];
    match &record.status {
        Status::Refused { reason } => say!("nothing was measured: {reason}"),
        _ if csv_instead => codes.push(print(&csv::links(record))),
        _ => codes.push(print(&text::links(record))),
    }
    if let Some(error) = &ended.failed {
        say!("error: {error:#}");
        codes.push(exit::INTERNAL);
    }
    if let Some(path) = &args.json {
        codes.push(write(path, json(record)));
    }
    if let Some(path) = args.csv.as_deref().filter(|_| !csv_instead) {
        codes.push(write(path, Ok(csv::links(record))));
    }
    say!(
        "result: {} (p2p-bw show prints it again)",
        ended.folder.display()
    );
    exit::fold(codes)
}

fn json(record: &Record) -> Result<String, String> {
    serde_json::to_string_pretty(record)
        .map(|text| text + "\n")
        .map_err(|error| error.to_string())
}

fn write(path: &Path, text: Result<String, String>) -> u8 {
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

/// A reader that went away, as with `| head`, is no failure; a full disk behind standard output is.
fn print(text: &str) -> u8 {
    let mut stdout = std::io::stdout().lock();
    match stdout
        .write_all(text.as_bytes())
        .and_then(|()| stdout.flush())
    {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            say!("error: cannot write to standard output: {error}");
            exit::INTERNAL
        }
        _ => exit::DONE,
    }
}
