//! `allreduce-bench`: times the collectives that tensor parallelism issues, one process a rank. Reads the command line, prints, and
//! returns the exit code; the work is done in `parent` and its children.

#![forbid(unsafe_code)]

mod cli;
mod messages;
mod parent;
mod peers;
mod rank;

use std::process::ExitCode;

use measure::exit;
use measure::render::{csv, text};
use program::outputs::{self, Rendering};
use program::{command_line, say};
use supervisor::Interrupt;

use crate::cli::{Cli, Command, RunArgs};
use crate::parent::Outcome;

/// How collectives are shown.
const RENDERING: Rendering = Rendering {
    text: text::record,
    csv: csv::record,
};

/// The hidden subcommands.
type Child = fn() -> anyhow::Result<()>;
const CHILDREN: [(&str, Child); 3] = [
    (inventory::CHILD, inventory::child::run),
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
            Some(Command::Show { path, csv }) => outputs::opened(&path)
                .map_or_else(|code| code, |record| outputs::show(&record, csv, RENDERING)),
            None => measure(&cli.run),
        },
    })
}

fn measure(args: &RunArgs) -> u8 {
    if let Err(reason) = args.outputs.check() {
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
        Ok(Outcome::Listed(text)) => outputs::print(&text),
        Ok(Outcome::Ended(ended)) => args.outputs.finish(&ended, RENDERING),
        Err(stop) => outputs::stopped(&stop),
    }
}
