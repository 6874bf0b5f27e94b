//! `allreduce`: times the collectives that tensor parallelism issues, one process a rank. Reads its command line, prints, and
//! returns the exit code; the work is done in `parent` and its children.

#![forbid(unsafe_code)]

mod cli;
mod compare;
mod engine_probe;
mod launch;
mod messages;
mod parent;
mod rank;
mod values;

use std::path::Path;

use clap::{ArgMatches, FromArgMatches as _, Subcommand as _};
use program::outputs::{self, interruptible};
use program::show::Show;
use program::{forms, say};
use record::exit;
use view::{Document, csv};

use crate::cli::{AllreduceCommand, Command, RunArgs};
use crate::launch::Place;

/// The hidden subcommands.
type Worker = fn() -> anyhow::Result<()>;
const WORKERS: [(&str, Worker); 3] = [
    (inventory::CHILD, inventory::child::run),
    (inventory::library::CHILD, inventory::library::run),
    (rank::CHILD, rank::run),
];

/// Adds the command to a command line.
#[must_use]
pub fn commands(line: clap::Command) -> clap::Command {
    Command::augment_subcommands(line)
}

/// Carries out what a command line asks for, and gives the exit code.
///
/// # Errors
/// It is no command of [`commands`].
pub fn run(matches: &ArgMatches, show: Show) -> Result<u8, clap::Error> {
    let Command::Allreduce(args) = Command::from_arg_matches(matches)?;
    Ok(match args.command {
        Some(AllreduceCommand::Show { path, csv }) => {
            forms::saved(&path, (csv, csv::record), foreign, show)
        }
        Some(AllreduceCommand::Compare(args)) => {
            forms::compared(&args.flags, || compare::run(&args, show))
        }
        Some(AllreduceCommand::Library(args)) => interruptible(|interrupt| {
            let (document, code) = parent::library(&args, interrupt)?;
            Ok(exit::fold([show.print(&document), code]))
        }),
        None => measure(&args.run, show),
    })
}

/// Runs the worker that a first argument stands for, and gives the exit code; `None` where it stands for none.
#[must_use]
pub fn worker(first: &str) -> Option<u8> {
    let (_, run) = WORKERS.iter().find(|(name, _)| *name == first)?;
    Some(outputs::worked(run()))
}

fn measure(args: &RunArgs, show: Show) -> u8 {
    let place = match Place::find(&args.launch) {
        Ok(place) => place,
        Err(reason) => {
            say!("error: {reason}");
            return exit::USAGE;
        }
    };
    let follows = place.as_ref().is_some_and(|place| place.rank > 0);
    // What is written is the matter of rank 0.
    if let (false, Err(reason)) = (follows, args.outputs.check()) {
        say!("error: {reason}");
        return exit::USAGE;
    }
    interruptible(|interrupt| match place {
        Some(place) if follows => Ok(launch::follow(args, &place, interrupt)),
        place => parent::run(args, place, interrupt, show),
    })
}

fn foreign(path: &Path) -> Result<(Document, bool), String> {
    let file = import::collectives::read_file(path).map_err(|error| error.to_string())?;
    Ok((view::foreign::collectives(&file), !file.values.is_empty()))
}
