//! Links of a machine: `p2p`, `topo`, `numa`, `doctor` and `monitor`. Reads their command lines, prints, and returns the exit code;
//! the work is done in `parent` and its children.

#![forbid(unsafe_code)]

mod begun;
mod cases;
mod children;
mod cli;
mod compare;
mod doctor;
mod load;
mod messages;
mod monitor;
mod numa;
mod parent;
mod topo;

use std::path::Path;

use clap::{ArgMatches, FromArgMatches as _, Subcommand as _};
use program::forms;
use program::outputs::{self, ended, interruptible};
use program::show::Show;
use view::{Document, csv};

use crate::cli::{Command, P2pCommand};

/// Adds the commands to a command line.
#[must_use]
pub fn commands(line: clap::Command) -> clap::Command {
    Command::augment_subcommands(line)
}

/// Carries out what a command line asks for, and gives the exit code.
///
/// # Errors
/// It is no command of [`commands`].
pub fn run(matches: &ArgMatches, show: Show) -> Result<u8, clap::Error> {
    Ok(match Command::from_arg_matches(matches)? {
        Command::P2p(args) => match args.command {
            Some(P2pCommand::Show { path, csv }) => {
                forms::saved(&path, (csv, csv::links), foreign, show)
            }
            Some(P2pCommand::Compare(args)) => {
                forms::compared(&args.flags, || compare::run(&args, show))
            }
            Some(P2pCommand::Load(args)) => {
                interruptible(|interrupt| load::run(&args, interrupt, show))
            }
            None => interruptible(|interrupt| parent::run(&args.run, interrupt, show)),
        },
        Command::Topo(args) => ended(topo::run(&args, show)),
        Command::Doctor(args) => interruptible(|interrupt| doctor::run(&args, interrupt, show)),
        Command::Numa(args) => interruptible(|interrupt| numa::run(&args, interrupt, show)),
        Command::Monitor(args) => interruptible(|interrupt| monitor::run(&args, interrupt)),
    })
}

/// Runs the worker that a first argument stands for, and gives the exit code; `None` where it stands for none.
#[must_use]
pub fn worker(first: &str) -> Option<u8> {
    children::run(first).map(outputs::worked)
}

fn foreign(path: &Path) -> Result<(Document, bool), String> {
    let file = import::links::read(path).map_err(|error| error.to_string())?;
    Ok((view::foreign::links(&file), !file.values.is_empty()))
}
