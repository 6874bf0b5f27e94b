//! `p2p-bw`: measures the links of a GPU box. Reads the command line, prints, and returns the exit code; the work is
//! done in `parent` and its children.

#![forbid(unsafe_code)]

mod begun;
mod cases;
mod children;
mod cli;
mod compare;
mod doctor;
mod formats;
mod load;
mod messages;
mod monitor;
mod numa;
mod parent;
mod pictures;
mod selection;
mod topo;

use std::path::Path;
use std::process::ExitCode;

use measure::exit;
use measure::record::Record;
use measure::render::csv;
use program::outputs::{self, Rendering};
use program::{Stop, command_line, say};
use supervisor::Interrupt;

use crate::children::Child;
use crate::cli::{Cli, Command, RunArgs};
use crate::compare::CompareArgs;
use crate::formats::Forms;
use crate::monitor::MonitorArgs;
use crate::parent::Outcome;

/// How links are shown.
fn rendering(forms: &Forms) -> Rendering {
    Rendering {
        text: forms.text(),
        csv: csv::links,
    }
}

fn main() -> ExitCode {
    if let Some(child) = command_line::first_argument().and_then(|first| Child::of(&first)) {
        return match children::run(child) {
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
            Some(Command::Monitor(args)) => watch(&args),
            Some(Command::Topo(args)) => ended(topo::run(&args)),
            Some(Command::Doctor(args)) => match interrupt() {
                Ok(interrupt) => ended(doctor::run(&args, &interrupt, &|line| say!("{line}"))),
                Err(code) => code,
            },
            Some(Command::Load(args)) => match interrupt() {
                Ok(interrupt) => ended(load::run(&args, &interrupt)),
                Err(code) => code,
            },
            Some(Command::Numa(args)) => match interrupt() {
                Ok(interrupt) => ended(numa::run(&args, &interrupt)),
                Err(code) => code,
            },
            None => measure(&cli.run),
        },
    })
}

fn measure(args: &RunArgs) -> u8 {
    if let Err(reason) = args.check() {
        say!("error: {reason}");
        return exit::USAGE;
    }
    let interrupt = match interrupt() {
        Ok(interrupt) => interrupt,
        Err(code) => return code,
    };
    match parent::run(args, &interrupt, &|line| say!("{line}")) {
        Ok(Outcome::Listed(text)) => outputs::print(&text),
        Ok(Outcome::ListedAsJson(record)) => args.outputs.only_json(&record),
        Ok(Outcome::Ended(mut ended)) => {
            let drawn = beside(&args.forms, &ended.record);
            ended.record.exit_code = exit::fold([ended.record.exit_code, drawn]);
            args.outputs.finish(&ended, rendering(&args.forms))
        }
        Err(stop) => outputs::stopped(&stop),
    }
}

fn show(path: &Path, as_csv: bool, forms: &Forms) -> u8 {
    if let Err(reason) = forms.check() {
        say!("error: {reason}");
        return exit::USAGE;
    }
    if numa::is_report(path) {
        say!(
            "error: {} is no record but what `numa exec --report` wrote: where each process was; read it as JSON",
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

/// Writes what is asked for beside the text, says what the text leaves out, and gives the exit code.
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

fn watch(args: &MonitorArgs) -> u8 {
    let interrupt = match interrupt() {
        Ok(interrupt) => interrupt,
        Err(code) => return code,
    };
    // A reader gets each line when it is written.
    let mut sink = |line: &str| outputs::printed(&format!("{line}\n"));
    monitor::run(args, &interrupt, &|line| say!("{line}"), &mut sink)
        .unwrap_or_else(|stop| outputs::stopped(&stop))
}

/// The exit code of a subcommand, with what stopped it said.
fn ended(outcome: Result<u8, Stop>) -> u8 {
    outcome.unwrap_or_else(|stop| outputs::stopped(&stop))
}

/// Begins to catch signals; the exit code where that cannot be.
fn interrupt() -> Result<Interrupt, u8> {
    Interrupt::install().map_err(|error| {
        say!("error: cannot catch signals: {error}");
        exit::INTERNAL
    })
}
