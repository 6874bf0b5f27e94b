//! The commands of `tplens` that `cargo xtask COMMAND ARGS...` builds and becomes.
//!
//! The arguments are handed on untouched and the program takes this process's place, so its exit code and its way
//! with signals are its own. This file knows no option of any command but `--sim`, which needs the simulated libraries.

use std::convert::Infallible;
use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::process::Command;

use anyhow::{Context, Result};

use crate::cargo::{self, Built};
use crate::soft;

/// The package of the program, which is also the name of its binary.
pub(crate) const PACKAGE: &str = "tplens";

/// The command that always runs on a simulated machine.
const DEMO: &str = "demo";

/// Its commands.
pub(crate) const COMMANDS: [&str; 18] = [
    "p2p",
    "topo",
    "numa",
    "doctor",
    "monitor",
    "allreduce",
    "serve",
    "study",
    DEMO,
    "ablate",
    "half",
    "explain",
    "predict",
    "kv",
    "accept",
    "show",
    "compare",
    "completions",
];

/// Builds the program in release and replaces this process by it; returns only where that failed.
pub(crate) fn exec(command: &str, arguments: &[OsString]) -> Result<u8> {
    let mut packages = vec![PACKAGE];
    let simulated = command == DEMO || wants_soft_box(arguments);
    if simulated {
        packages.extend(soft::packages(&[soft::SOFT]));
    }
    let built = Built::packages(&packages, true)?;
    if simulated {
        soft::place(&built, &cargo::target_directory()?, &[soft::SOFT])?;
    }
    let file = built.file(PACKAGE)?;
    let error: Result<Infallible, _> = Err(Command::new(&file).arg(command).args(arguments).exec());
    match error.with_context(|| format!("{} did not start", file.display()))? {}
}

/// Tells whether the arguments ask for a simulated box; what stands after `--` is another program's.
fn wants_soft_box(arguments: &[OsString]) -> bool {
    arguments
        .iter()
        .take_while(|argument| *argument != "--")
        .any(|argument| {
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
        assert!(!asks(&["--tp", "1", "--", "server", "--sim", "x"]));
    }
}
