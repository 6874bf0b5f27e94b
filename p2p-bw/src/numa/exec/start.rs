//! Starts the program as a child that ends with this process.

use std::ffi::OsString;
use std::io::IsTerminal as _;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use anyhow::Context;
use program::{Stop, say};
use record::redacted_arguments;
use runner::child::die_with_parent;
use rustix::process::Pid;

/// Exit codes of shells: a program that cannot be started, and one that is not found.
const CANNOT_START: u8 = 126;
const NOT_FOUND: u8 = 127;

/// The program.
pub(super) struct Started {
    pub(super) pid: Pid,
    /// Whether it has a process group of its own. On a terminal it stays in the terminal's, so that it may read from it.
    pub(super) own_group: bool,
}

impl Started {
    pub(super) fn start(program: &[OsString]) -> Result<Self, Stop> {
        let own = std::env::current_exe().context("finding this program")?;
        let own_group = !std::io::stdin().is_terminal();
        let mut command = Command::new(own);
        let parent = std::process::id().to_string();
        command
            .args(["numa", "exec", "--become", &parent, "--"])
            .args(program);
        if own_group {
            command.process_group(0);
        }
        let child = command.spawn().context("starting the program")?;
        Ok(Self {
            pid: Pid::from_child(&child),
            own_group,
        })
    }
}

/// Becomes the program, which the kernel ends with its parent; returns the exit code where it cannot.
pub(super) fn r#become(parent: u32, program: &[OsString]) -> u8 {
    let Some((name, arguments)) = program.split_first() else {
        return record::exit::USAGE;
    };
    if let Err(error) = die_with_parent(parent) {
        say!("error: {error}");
        return record::exit::INTERNAL;
    }
    let error = Command::new(name).args(arguments).exec();
    let name = redacted_arguments([name.to_string_lossy().into_owned()]).concat();
    let name = record::control::replaced(&name);
    say!("error: cannot start `{name}`: {error}; see the path and that it may be executed");
    match error.kind() {
        std::io::ErrorKind::NotFound => NOT_FOUND,
        _ => CANNOT_START,
    }
}
