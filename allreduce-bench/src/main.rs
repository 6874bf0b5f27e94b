//! `allreduce-bench`: times the collectives that tensor parallelism issues, one process a rank. Reads the command line, prints, and
//! returns the exit code; the work is done in `parent` and its children.

#![forbid(unsafe_code)]

mod cli;
mod compare;
mod engine_probe;
mod launch;
mod messages;
mod output;
mod parent;
mod peers;
mod rank;

use std::path::Path;
use std::process::ExitCode;

use measure::exit;
use measure::record::Record;
use measure::render::csv;
use program::outputs::{self, Rendering};
use program::{command_line, say};
use supervisor::Interrupt;

use crate::cli::{Cli, Command, LibraryArgs, RunArgs};
use crate::compare::CompareArgs;
use crate::launch::Place;
use crate::output::Forms;
use crate::parent::Outcome;

/// How collectives are shown.
fn rendering(forms: &Forms) -> Rendering {
    Rendering {
        text: forms.text(),
        csv: csv::record,
    }
}

/// The hidden subcommands.
type Child = fn() -> anyhow::Result<()>;
const CHILDREN: [(&str, Child); 4] = [
    (inventory::CHILD, inventory::child::run),
    (inventory::library::CHILD, inventory::library::run),
    (peers::CHILD, peers::run),
    (rank::CHILD, rank::run),
];

fn main() -> ExitCode {
    let first = command_line::first_argument();
    let child = CHILDREN
        .iter()
        .find(|(name, _)| first.as_deref() == Some(*name));
    if let Some((_, run)) = child {
        return match run() {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                say!("{error:#}");
                ExitCode::from(exit::INTERNAL)
            }
        };
    }
    ExitCode::from(match command_line::parse::<Cli>() {
        Err(code) => code,
        Ok(cli) => match cli.command {
            Some(Command::Show { path, csv, forms }) => show(&path, csv, &forms),
            Some(Command::Compare(args)) => compared(&args),
            Some(Command::Library(args)) => inspect(&args),
            None => measure(&cli.run),
        },
    })
}

fn measure(args: &RunArgs) -> u8 {
    let place = match Place::find(&args.launch) {
        Ok(place) => place,
        Err(reason) => {
            say!("error: {reason}");
            return exit::USAGE;
        }
    };
    let follows = place.as_ref().filter(|place| place.rank > 0);
    // What is written is the matter of rank 0.
    if let (None, Err(reason)) = (follows, args.check_outputs()) {
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
    if let Some(place) = follows {
        return launch::follow(args, place, &interrupt, &|line| say!("{line}"));
    }
    match parent::run(args, place, &interrupt, &|line| say!("{line}")) {
        Ok(Outcome::Listed(text)) => outputs::print(&text),
        Ok(Outcome::Ended(mut ended)) => {
            let drawn = beside(&args.forms, &ended.record);
            ended.record.exit_code = exit::fold([ended.record.exit_code, drawn]);
            args.outputs.finish(&ended, rendering(&args.forms))
        }
        Err(stop) => outputs::stopped(&stop),
    }
}

fn inspect(args: &LibraryArgs) -> u8 {
    let interrupt = match Interrupt::install() {
        Ok(interrupt) => interrupt,
        Err(error) => {
            say!("error: cannot catch signals: {error}");
            return exit::INTERNAL;
        }
    };
    match parent::library(args, &interrupt) {
        Ok((text, code)) => exit::fold([outputs::print(&text), code]),
        Err(stop) => outputs::stopped(&stop),
    }
}

fn show(path: &Path, as_csv: bool, forms: &Forms) -> u8 {
    if let Err(reason) = forms.check() {
        say!("error: {reason}");
        return exit::USAGE;
    }
    if !path.exists() {
        say!(
            "error: {}: there is no such file or folder; give a result folder, record.json or journal.jsonl of allreduce-bench",
            path.display()
        );
        return exit::USAGE;
    }
    match outputs::opened(path) {
        Ok(record) => exit::fold([
            beside(forms, &record),
            outputs::show(&record, as_csv, rendering(forms)),
        ]),
        Err(code) => code,
    }
}

/// Writes the pictures that were asked for, says what the text leaves out, and gives the exit code.
fn beside(forms: &Forms, record: &Record) -> u8 {
    for line in forms.left_out(record) {
        say!("left out: {line}");
    }
    outputs::pictures(forms.svg.as_deref(), forms.pictures(record))
}

fn compared(args: &CompareArgs) -> u8 {
    if let Err(reason) = args.flags.check() {
        say!("error: {reason}");
        return exit::USAGE;
    }
    outputs::compared(compare::run(args))
}
