//! `p2p-bw`: measures the links of a GPU box. Reads the command line, prints, and returns the exit code; the work is
//! done in `parent` and its children.

#![forbid(unsafe_code)]

mod cases;
mod children;
mod cli;
mod messages;
mod parent;

use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
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
    if let Some(child) = std::env::args_os()
        .nth(1)
        .and_then(|first| Child::of(first.to_str()?))
    {
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
    if let Err(reason) = cli::check_outputs(args) {
        say!("error: {reason}");
        return exit::USAGE;
    }
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

/// Writes the files that were asked for, prints the tables, and says where the rest is.
///
/// The tables come last, so that the exit code in their last line is the one that is returned.
fn finish(args: &RunArgs, ended: &Ended) -> u8 {
    let record = &ended.record;
    let to_stdout = |path: &Option<PathBuf>| path.as_deref() == Some(Path::new("-"));
    let mut codes = vec![record.exit_code];
    if let Some(error) = &ended.failed {
        say!("error: {error:#}");
        codes.push(exit::INTERNAL);
    }
    if let Some(path) = args.json.as_deref().filter(|_| !to_stdout(&args.json)) {
        codes.push(write(path, json(record)));
    }
    if let Some(path) = args.csv.as_deref().filter(|_| !to_stdout(&args.csv)) {
        codes.push(write(path, Ok(csv::links(record))));
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
        _ if to_stdout(&args.json) => Some(json(record)),
        _ if to_stdout(&args.csv) => Some(Ok(csv::links(record))),
        _ => Some(Ok(text::links(&returned))),
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
