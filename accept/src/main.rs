//! `accept`: takes or sends back a GPU box. Reads the command line, prints, and returns the exit code.
//!
//! It loads no vendor library: the other programs measure, as processes, and what they wrote is judged here.
#![forbid(unsafe_code)]

mod baseline;
mod checks;
mod cli;
mod compare;
mod figures;
mod findings;
mod fleet;
mod judge;
#[cfg(test)]
mod made;
mod outputs;
mod plural;
mod profile;
mod report;
mod run;

use std::process::ExitCode;

use program::outputs::{print, stopped};
use program::{Stop, command_line, say};
use supervisor::Interrupt;

use crate::cli::{BaselineCommand, Cli, Command, ProfileCommand};

fn main() -> ExitCode {
    if command_line::first_argument().as_deref() == Some(run::TIED) {
        let error = run::become_tied();
        say!("error: {error:#}");
        return ExitCode::from(measure::exit::INTERNAL);
    }
    ExitCode::from(match command_line::parse::<Cli>() {
        Err(code) => code,
        Ok(cli) => match cli.command {
            Command::Run(args) => interruptible(|interrupt| run::run(&args, interrupt)),
            Command::Plan(args) => ended(run::plan(&args)),
            Command::Profile { command } => profile(&command),
            Command::Report(args) => outputs::again(&args),
            Command::Explain { check } => outputs::explain(check.as_deref()),
            Command::Baseline {
                command: BaselineCommand::Capture { run, out },
            } => baseline::capture(&run, &out),
            Command::Compare(args) => compare::run(&args),
            Command::Fleet(args) => fleet::run(&args),
        },
    })
}

/// Runs what may be told to stop, and gives the exit code.
fn interruptible(run: impl FnOnce(&Interrupt) -> Result<u8, Stop>) -> u8 {
    match Interrupt::install() {
        Ok(interrupt) => ended(run(&interrupt)),
        Err(error) => {
            say!("error: cannot catch signals: {error}");
            measure::exit::INTERNAL
        }
    }
}

fn ended(outcome: Result<u8, Stop>) -> u8 {
    outcome.unwrap_or_else(|stop| stopped(&stop))
}

/// Lists the profiles, or checks one.
fn profile(command: &ProfileCommand) -> u8 {
    let text = match command {
        ProfileCommand::List => profile::list(),
        ProfileCommand::Check { profile, whole } => profile::checked(profile, *whole),
    };
    match text {
        Ok(text) => print(&text),
        Err(error) => {
            say!("error: {error}");
            measure::exit::USAGE
        }
    }
}
