//! The command line: the commands of each crate, and the few that are nobody's.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{ArgMatches, Args as _, Command, Subcommand};
use clap_complete::Shell;
use program::outputs;
use program::show::Show;

/// A crate with commands.
pub(crate) struct Owner {
    commands: fn(Command) -> Command,
    pub(crate) run: fn(&ArgMatches, Show) -> Result<u8, clap::Error>,
    /// Runs the worker that a first argument stands for.
    worker: Option<fn(&str) -> Option<u8>>,
}

/// All of them, in the order of the help.
pub(crate) const OWNERS: [Owner; 4] = [
    Owner {
        commands: p2p_bw::commands,
        run: p2p_bw::run,
        worker: Some(p2p_bw::worker),
    },
    Owner {
        commands: allreduce_bench::commands,
        run: allreduce_bench::run,
        worker: Some(allreduce_bench::worker),
    },
    Owner {
        commands: serve_bench::commands,
        run: serve_bench::run,
        worker: Some(serve_bench::worker),
    },
    Owner {
        commands: accept::commands,
        run: accept::run,
        worker: None,
    },
];

impl Owner {
    pub(crate) fn has(&self, command: &str) -> bool {
        let line = (self.commands)(Command::new("tplens"));
        line.find_subcommand(command).is_some()
    }
}

/// Commands that belong to no crate.
#[derive(Debug, Subcommand)]
pub(crate) enum Own {
    /// Print a result again, of whichever command
    ///
    /// Takes the flags of its own `show`, such as `tplens serve show`.
    Show {
        /// A result folder, a record.json, a journal.jsonl, a report of `accept`, or another client's file.
        path: PathBuf,
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
        more: Vec<OsString>,
    },
    /// Compare two results of one kind
    ///
    /// The first is the baseline. Takes the flags of its own `compare`, such as `tplens p2p
    /// compare`.
    Compare {
        /// The baseline.
        a: PathBuf,
        /// The result that is compared with it.
        b: PathBuf,
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
        more: Vec<OsString>,
    },
    /// Print what a shell needs to complete these commands
    Completions {
        /// The shell.
        shell: Shell,
    },
}

/// The whole command line.
pub(crate) fn line() -> Command {
    let line = Command::new("tplens")
        .bin_name("tplens")
        .version(env!("CARGO_PKG_VERSION"))
        .max_term_width(100)
        .subcommand_required(true)
        .arg_required_else_help(true);
    let line = Show::augment_args(line);
    let line = OWNERS
        .iter()
        .fold(line, |line, owner| (owner.commands)(line));
    // What is derived brings texts of its own.
    Own::augment_subcommands(line)
        .about("Measures what connects GPUs, what tensor parallelism puts on it, and a server under load, and explains the one by the other")
        .after_help("Begin with `tplens demo`, which shows the whole chain, simulated, in a minute, or with `tplens p2p`, which measures this machine. `tplens help CODE` explains a code that a result names, such as link-below-slot, or a word such as TPOT. Exit codes: 0 done or accepted, 1 rejected, a regression or a failed check, 2 wrong command line or input, 3 inconclusive or refused, 4 not written or a fault of the program, 5 wrong data, 129, 130, 143 ended by SIGHUP, SIGINT, SIGTERM with what was measured kept")
}

/// Runs the worker that a first argument stands for, and gives its exit code.
pub(crate) fn worker(first: &str) -> Option<u8> {
    let mut workers = OWNERS.iter().filter_map(|owner| owner.worker);
    workers.find_map(|worker| worker(first))
}

/// Prints the completions for a shell, and gives the exit code.
pub(crate) fn completions(shell: Shell) -> u8 {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut line(), "tplens", &mut text);
    outputs::print(&String::from_utf8_lossy(&text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_commands_are_those_of_the_table_and_each_of_one_crate() {
        line().debug_assert();
        for command in line().get_subcommands() {
            let name = command.get_name();
            let owners = OWNERS.iter().filter(|owner| owner.has(name)).count();
            let is_own = ["show", "compare", "completions"].contains(&name);
            assert_eq!(owners, usize::from(!is_own), "{name}");
        }
    }
}
