//! `accept`: takes or sends back a GPU box. Reads its command line, prints, and returns the exit code.
//!
//! It loads no vendor library: the other commands measure, as processes, and what they wrote is judged here.
#![forbid(unsafe_code)]

mod baseline;
mod checks;
mod cli;
mod compare;
mod documents;
mod findings;
mod fleet;
mod judge;
mod profile;
mod report;
mod run;
#[cfg(test)]
mod tests;

use clap::{ArgMatches, FromArgMatches as _, Subcommand as _};
use program::outputs::{ended, interruptible};
use program::say;
use program::show::Show;

use crate::cli::{Cli, Command, ProfileCommand, ReportArgs};
use crate::report::Report;

/// Adds the command to a command line.
#[must_use]
pub fn commands(line: clap::Command) -> clap::Command {
    Cli::augment_subcommands(line)
}

/// Carries out what a command line asks for, and gives the exit code.
///
/// # Errors
/// It is no command of [`commands`].
pub fn run(matches: &ArgMatches, show: Show) -> Result<u8, clap::Error> {
    let Cli::Accept { command } = Cli::from_arg_matches(matches)?;
    Ok(match command {
        Command::Run(args) => interruptible(|interrupt| run::run(&args, interrupt, show)),
        Command::Plan(args) => ended(run::plan(&args, show)),
        Command::Profile { command } => profile(&command, show),
        Command::Report(args) => report_again(&args, show),
        Command::Compare(args) => compare::run(&args, show).unwrap_or_else(|error| usage(&error)),
        Command::Fleet(args) => ended(fleet::run(&args, show)),
    })
}

/// Lists the profiles, or checks one.
fn profile(command: &ProfileCommand, show: Show) -> u8 {
    let shown = match command {
        ProfileCommand::Draft(on) => return interruptible(|interrupt| run::draft(on, interrupt)),
        ProfileCommand::List => Ok(show.print(&documents::profiles())),
        ProfileCommand::Check { profile } => {
            profile::load(profile).map(|loaded| show.print(&documents::asks_for(&loaded)))
        }
    };
    shown.unwrap_or_else(|error| usage(&error))
}

/// A run's report in other forms, also of a run that was killed. The exit code says whether they were written.
fn report_again(args: &ReportArgs, show: Show) -> u8 {
    let file = Report::file(&args.run);
    let checked = documents::check(&args.forms, file.parent());
    match checked.and_then(|()| run::told(&args.run)) {
        Err(error) => usage(&error),
        Ok(report) => documents::write(&report, &args.forms, show),
    }
}

fn usage(error: &dyn std::fmt::Display) -> u8 {
    say!("error: {error:#}");
    record::exit::USAGE
}
