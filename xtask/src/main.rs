//! `cargo xtask`: builds and runs the programs, and checks the repository.
//!
//! It measures nothing, reads no result, holds no default of any program and uses no shell. It depends on none of
//! our crates. What a user of a binary needs must work without it.
#![forbid(unsafe_code)]

mod cargo;
mod counts;
mod dist;
mod files;
mod golden;
mod kernels;
mod python;
mod soft;
mod test;
mod tidy;

use std::ffi::OsString;
use std::io::{Write, stderr, stdout};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

use anyhow::{Context, Result};
use clap::Parser;

use crate::cargo::{Built, PROGRAM};

/// Exit code where a check failed.
const FAILED: u8 = 1;
/// Exit code where the command itself could not be carried out.
const INTERNAL: u8 = 4;

/// Builds and runs the programs, and checks the repository.
#[derive(Debug, Parser)]
#[command(bin_name = "cargo xtask")]
enum Task {
    /// Make one archive that runs on a machine without Rust: programs, simulated libraries, profiles, pages
    Dist {
        /// Where they go; `dist` in the target folder where it is not given
        #[arg(long, value_name = "FOLDER")]
        out: Option<PathBuf>,
    },
    /// Compare the programs' numbers and codes with golden/values
    Golden(golden::Options),
    /// Make the PTX that is kept, or compare it; assemble all kernels
    Kernels {
        /// Write nothing
        #[arg(long)]
        check: bool,
    },
    /// Build the delay shims into target/shim, under the names of the libraries before which they stand
    Shim {
        /// Optimised
        #[arg(long)]
        release: bool,
    },
    /// Build the simulated vendor libraries into target/soft
    Soft {
        /// Optimised
        #[arg(long)]
        release: bool,
    },
    /// Format, lints, all tests, golden corpus, tidy; ends with the counts
    Test {
        /// Every seed, kill and mutation
        #[arg(long)]
        full: bool,
    },
    /// Check the rules that no compiler checks
    Tidy {
        /// Lower the ceilings to today's values
        #[arg(long)]
        tighten: bool,
    },
    /// Build tplens and become `tplens COMMAND ARGS...`
    #[command(external_subcommand)]
    Program(Vec<OsString>),
}

fn main() -> ExitCode {
    match run(Task::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(FAILED),
        Err(error) => {
            // Nothing is left to tell where standard error is closed too.
            let _ = writeln!(stderr(), "xtask: {error:#}");
            ExitCode::from(INTERNAL)
        }
    }
}

/// Does what is asked and tells whether no check failed.
fn run(task: Task) -> Result<bool> {
    let out = &mut stdout();
    match task {
        Task::Dist { out: folder } => dist::run(out, folder).map(|()| true),
        Task::Golden(options) => golden::run(out, &options).map(|counted| counted.failed == 0),
        Task::Kernels { check } => kernels::run(out, check),
        Task::Shim { release } => soft::install(soft::SHIM, &[], release).map(|_| true),
        Task::Soft { release } => soft::install(soft::SOFT, &[], release).map(|_| true),
        Task::Test { full } => test::run(out, full),
        Task::Tidy { tighten } => tidy::run(out, tighten),
        Task::Program(arguments) => exec(&arguments),
    }
}

/// Builds the program, where it is asked for simulated machines, too, in release and replaces this process by the program, so that exit code and
/// signals are its own; returns only where that failed.
fn exec(arguments: &[OsString]) -> Result<bool> {
    let is_simulated = |word: &OsString| {
        let word = word.to_string_lossy();
        word == "demo" || word.starts_with("--sim")
    };
    let built: Built = match arguments.iter().any(is_simulated) {
        true => soft::install(soft::SOFT, &[PROGRAM], true)?,
        false => Built::packages(&[PROGRAM], true)?,
    };
    let file = built.file(PROGRAM)?;
    let error = Command::new(&file).args(arguments).exec();
    Err(error).with_context(|| format!("{} did not start", file.display()))
}
