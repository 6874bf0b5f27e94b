//! Serving benchmark, embedded engine, study and explanation. Reads their command lines, prints, and returns the exit code; the work
//! is done in one module a command.

mod ablate;
mod address;
mod beside;
mod cli;
mod compare;
mod engine_log;
mod explain;
mod flags;
mod half;
mod json;
mod kv;
mod listener;
mod load;
mod planner;
mod predict;
mod prometheus;
mod route;
mod selftest;
mod server;
mod show;
mod slo;
mod split;
mod study;
mod sweep;

use clap::{ArgMatches, FromArgMatches as _, Subcommand as _};
use program::Stop;
use program::outputs::{ended, interruptible};
use program::say;
use program::show::Show;
use record::exit;

use crate::cli::{Command, ServeCommand};
use crate::planner::Asker;

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
        Command::Serve { command } => serve(command, show),
        Command::Study(args) => planned(show, |asker| study::run(&args, asker)),
        Command::Demo(args) => planned(show, |asker| study::demo(&args, asker)),
        Command::Ablate(args) => planned(show, |asker| ablate::run(&args, asker)),
        Command::Half(args) => planned(show, |asker| half::run(&args, asker)),
        Command::Explain(args) => ended(explain::run(&args, show)),
        Command::Predict(args) => ended(predict::run(&args, show)),
        Command::Kv(args) => ended(kv::run(&args, show)),
    })
}

fn serve(command: ServeCommand, show: Show) -> u8 {
    match command {
        ServeCommand::Run(args) => load::run(&args, show),
        ServeCommand::Engine(args) => interruptible(|interrupt| Ok(server::run(&args, interrupt))),
        ServeCommand::Route(args) => interruptible(|interrupt| route::run(&args, interrupt)),
        ServeCommand::Check(args) => ended(split::check(&args, show)),
        ServeCommand::Parts(args) => ended(route::parts(&args, show)),
        ServeCommand::Selftest(args) => planned(show, |asker| selftest::run(&args, asker)),
        ServeCommand::EngineLog(args) => ended(engine_log::run(&args, show)),
        ServeCommand::Slo(args) => planned(show, |asker| slo::run(&args, asker)),
        ServeCommand::Sweep(args) => planned(show, |asker| sweep::run(&args, asker)),
        ServeCommand::Show(args) => ended(show::run(&args, show)),
        ServeCommand::Compare(args) => ended(compare::run(&args, show)),
    }
}

/// Does what a planner plans, which a signal ends, and gives the exit code.
fn planned(show: Show, plan: impl FnOnce(&Asker<'_>) -> Result<u8, Stop>) -> u8 {
    let say = |line: &str| say!("{line}");
    interruptible(|interrupt| {
        plan(&Asker {
            show,
            interrupt,
            say: &say,
        })
    })
}

/// Runs what the runner starts this program for, and gives the exit code; `None` where a first argument asks for none of it.
#[must_use]
pub fn worker(first: &str) -> Option<u8> {
    let asked = runner::child::hidden(first, std::env::args_os().skip(2))?;
    Some(asked.unwrap_or_else(|error| {
        say!("error: {error}");
        exit::INTERNAL
    }))
}
