//! The programs that `cargo xtask NAME ARGS...` builds and becomes.
//!
//! The arguments are handed on untouched and the program takes this process's place, so its exit code and its way
//! with signals are its own. This file knows no option of any program but `--sim`, which needs the soft libraries.

use std::convert::Infallible;
use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::process::Command;

use anyhow::{Context, Result};

use crate::{cargo, soft};

/// A program of this repository.
pub(crate) struct Program {
    /// What stands after `cargo xtask`.
    pub(crate) command: &'static str,
    /// Its package, which is also the name of its binary.
    pub(crate) package: &'static str,
    /// What it does, for the usage text.
    pub(crate) about: &'static str,
}

/// All programs, one row each.
pub(crate) const PROGRAMS: &[Program] = &[Program {
    command: "p2p",
    package: "p2p-bw",
    about: "build and run p2p-bw: links between GPUs, host memory and NUMA nodes",
}];

/// Finds a program by its command.
pub(crate) fn find(command: &str) -> Option<&'static Program> {
    PROGRAMS.iter().find(|program| program.command == command)
}

/// Builds the program in release and replaces this process by it; returns only where that failed.
pub(crate) fn exec(program: &Program, arguments: &[OsString]) -> Result<u8> {
    let file = cargo::build(program.package, program.package, true)?;
    if wants_soft_box(arguments) {
        soft::install(true)?;
    }
    let error: Result<Infallible, _> = Err(Command::new(&file).args(arguments).exec());
    match error.with_context(|| format!("{} did not start", file.display()))? {}
}

/// Tells whether the arguments ask for a simulated box.
fn wants_soft_box(arguments: &[OsString]) -> bool {
    arguments.iter().any(|argument| {
        argument
            .to_str()
            .is_some_and(|text| text == "--sim" || text.starts_with("--sim="))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_sim_option_asks_for_the_soft_libraries() {
        let asks = |arguments: &[&str]| {
            wants_soft_box(&arguments.iter().map(Into::into).collect::<Vec<_>>())
        };
        assert!(asks(&["--gpus", "0,1", "--sim", "box"]));
        assert!(asks(&["--sim=box"]));
        assert!(!asks(&["--gpus", "0,1", "--simple", "sim"]));
    }
}
