//! `serve-bench`: serving benchmark, embedded engine, study and explanation. Reads the command line, prints, and returns the
//! exit code; the work is done in one module a subcommand.
#![forbid(unsafe_code)]

mod ablate;
mod attempt;
mod beside;
mod cli;
mod compare;
mod engine_log;
mod explain;
mod flags;
mod half;
mod load;
mod page;
mod predict;
mod selftest;
mod server;
mod slo;
mod study;
mod sweep;
mod sweep_report;
mod validate;

use std::process::ExitCode;

use measure::exit;
use measure::render::{csv, text};
use program::outputs::{self, Rendering};
use program::{Stop, command_line, say};
use supervisor::Interrupt;

use crate::cli::{Cli, Command};
use crate::study::watcher;

/// How records are shown, whichever program wrote them.
const RENDERING: Rendering = Rendering {
    text: text::record,
    csv: csv::record,
};

fn main() -> ExitCode {
    if let Some(code) = command_line::first_argument().and_then(|first| hidden(&first)) {
        return ExitCode::from(code);
    }
    ExitCode::from(match command_line::parse::<Cli>() {
        Err(code) => code,
        Ok(cli) => match cli.command {
            Command::Run(args) => load::run(&args),
            Command::Engine(args) => server::run(&args),
            Command::Selftest(args) => selftest::run(&args),
            Command::KnownSchedule(args) => selftest::known_schedule(&args),
            Command::Study(args) => {
                interruptible(|interrupt| study::run(&args, interrupt, &|line| say!("{line}")))
            }
            Command::Demo(args) => {
                interruptible(|interrupt| study::demo(&args, interrupt, &|line| say!("{line}")))
            }
            Command::Ablate(args) => {
                interruptible(|interrupt| ablate::run(&args, interrupt, &|line| say!("{line}")))
            }
            Command::Explain(args) => ended(explain::run(&args)),
            Command::EngineLog(args) => ended(engine_log::run(&args)),
            Command::HalfModel(args) => {
                interruptible(|interrupt| half::run(&args, interrupt, &|line| say!("{line}")))
            }
            Command::Predict(args) => ended(predict::run(&args)),
            Command::Validate(args) => validate::run(&args),
            Command::Slo(args) => {
                interruptible(|interrupt| slo::run(&args, interrupt, &|line| say!("{line}")))
            }
            Command::Sweep(args) => {
                interruptible(|interrupt| sweep::run(&args, interrupt, &|line| say!("{line}")))
            }
            Command::SweepReport(args) => sweep_report::run(&args),
            Command::Show { paths, csv, html } => {
                let shown =
                    compare::show(&paths, csv, |record| outputs::show(record, csv, RENDERING));
                let page = html.map(|html| page::show(&paths, &html));
                exit::fold([shown, page.unwrap_or(exit::DONE)])
            }
            Command::Page(args) => page::several(&args),
            Command::Compare(args) => compare::run(&args),
        },
    })
}

/// Runs what a study starts this program for, and gives the exit code; `None` where that is not asked for.
fn hidden(first: &str) -> Option<u8> {
    let words = std::env::args_os().skip(2);
    let error = if watcher::is_watch(first) {
        match watcher::watch(first, words) {
            Ok(code) => return Some(code),
            Err(error) => error,
        }
    } else if first == watcher::TIED {
        program::child::become_tied(words, |_| true)
    } else {
        return None;
    };
    say!("error: {}", outputs::told(&error));
    Some(exit::INTERNAL)
}

/// Runs what may be told to stop, and gives the exit code.
fn interruptible(run: impl FnOnce(&Interrupt) -> Result<u8, Stop>) -> u8 {
    match Interrupt::install() {
        Ok(interrupt) => ended(run(&interrupt)),
        Err(error) => {
            say!("error: cannot catch signals: {error}");
            exit::INTERNAL
        }
    }
}

fn ended(outcome: Result<u8, Stop>) -> u8 {
    outcome.unwrap_or_else(|stop| outputs::stopped(&stop))
}
