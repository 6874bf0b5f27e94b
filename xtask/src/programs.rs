//! The programs that `cargo xtask NAME ARGS...` builds and becomes.
//!
//! The arguments are handed on untouched and the program takes this process's place, so its exit code and its way
//! with signals are its own. This file knows no option of any program but `--sim`, which needs the soft libraries.

use std::convert::Infallible;
use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::process::Command;

use anyhow::{Context, Result};

use crate::cargo::{self, Built};
use crate::soft;

/// A command that becomes a program of this repository.
pub(crate) struct Program {
    /// What stands after `cargo xtask`.
    pub(crate) command: &'static str,
    /// Its package, which is also the name of its binary.
    pub(crate) package: &'static str,
    /// The program's subcommand, put before the arguments; empty where the command is the program itself.
    subcommand: &'static str,
    /// Packages whose programs it starts.
    starts: &'static [&'static str],
    /// Whether it always plays on a soft box.
    soft: bool,
    /// What it does, for the usage text.
    pub(crate) about: &'static str,
}

/// What a study starts.
const MEASURING: &[&str] = &["p2p-bw", "allreduce-bench"];

/// All commands, one row each.
pub(crate) const PROGRAMS: &[Program] = &[
    Program {
        command: "p2p",
        package: "p2p-bw",
        subcommand: "",
        starts: &[],
        soft: false,
        about: "build and run p2p-bw: links between GPUs, host memory and NUMA nodes",
    },
    Program {
        command: "topo",
        package: "p2p-bw",
        subcommand: "topo",
        starts: &[],
        soft: false,
        about: "what is where: matrix of GPUs and NICs, links, slots, NUMA nodes; --from FILE for a captured text",
    },
    Program {
        command: "numa",
        package: "p2p-bw",
        subcommand: "numa",
        starts: &[],
        soft: false,
        about: "how far host memory is from each GPU, where memory really is, programs bound to nodes (numa exec)",
    },
    Program {
        command: "doctor",
        package: "p2p-bw",
        subcommand: "doctor",
        starts: &[],
        soft: false,
        about: "what is wrong with this box: IOMMU, ACS, links, limits, versions, variables, with what to do",
    },
    Program {
        command: "allreduce",
        package: "allreduce-bench",
        subcommand: "",
        starts: &[],
        soft: false,
        about: "build and run allreduce-bench: collectives at the sizes that a model sends",
    },
    Program {
        command: "serve",
        package: "serve-bench",
        subcommand: "",
        starts: &[],
        soft: false,
        about: "build and run serve-bench: load on a server (run), embedded engine (engine)",
    },
    Program {
        command: "study",
        package: "serve-bench",
        subcommand: "study",
        starts: MEASURING,
        soft: false,
        about: "links, collectives, the server at each size under load, and why it is as fast as it is",
    },
    Program {
        command: "demo",
        package: "serve-bench",
        subcommand: "demo",
        starts: MEASURING,
        soft: true,
        about: "a study on a simulated box with the embedded engine; --full with an ablation, --list for boxes and times",
    },
    Program {
        command: "ablate",
        package: "serve-bench",
        subcommand: "ablate",
        starts: MEASURING,
        soft: false,
        about: "a server started again and again with one thing of its link changed: whether its step follows",
    },
    Program {
        command: "accept",
        package: "accept",
        subcommand: "",
        starts: &["p2p-bw", "allreduce-bench", "serve-bench"],
        soft: false,
        about: "take a box or send it back: measures it, holds it against a profile, and says accepted, rejected or inconclusive",
    },
    Program {
        command: "explain",
        package: "serve-bench",
        subcommand: "explain",
        starts: &[],
        soft: false,
        about: "the last step of a study, from anyone's result files",
    },
    Program {
        command: "predict",
        package: "serve-bench",
        subcommand: "predict",
        starts: &[],
        soft: false,
        about: "what a model will take on one GPU and on several, before it is served there",
    },
];

/// Finds a program by its command.
pub(crate) fn find(command: &str) -> Option<&'static Program> {
    PROGRAMS.iter().find(|program| program.command == command)
}

/// Builds the program in release and replaces this process by it; returns only where that failed.
pub(crate) fn exec(program: &Program, arguments: &[OsString]) -> Result<u8> {
    let mut packages = vec![program.package];
    packages.extend(program.starts);
    let simulated = program.soft || wants_soft_box(arguments);
    if simulated {
        packages.extend(soft::packages(&[soft::SOFT]));
    }
    let built = Built::packages(&packages, true)?;
    if simulated {
        soft::place(&built, &cargo::target_directory()?, &[soft::SOFT])?;
    }
    let file = built.file(program.package)?;
    let mut command = Command::new(&file);
    if !program.subcommand.is_empty() {
        command.arg(program.subcommand);
    }
    let error: Result<Infallible, _> = Err(command.args(arguments).exec());
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
