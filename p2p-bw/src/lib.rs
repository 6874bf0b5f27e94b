//! Links of a machine: `p2p`, `topo`, `numa`, `doctor` and `monitor`. Reads their command lines, prints, and returns the exit code;
//! the work is done in `parent` and its children.

#![forbid(unsafe_code)]

mod begun;
mod cases;
mod children;
mod compare;
mod doctor;
mod load;
mod messages;
mod monitor;
mod numa;
mod parent;
mod topo;

use std::path::{Path, PathBuf};

use clap::{ArgMatches, Args, FromArgMatches as _, Subcommand};
use program::forms;
use program::outputs::{self, ended, interruptible};
use program::show::Show;
use view::{Document, csv};

use crate::compare::CompareArgs;
use crate::doctor::DoctorArgs;
use crate::load::LoadArgs;
use crate::monitor::MonitorArgs;
use crate::numa::NumaArgs;
use crate::parent::RunArgs;
use crate::topo::TopoArgs;

/// What can be done with the links of a machine.
#[derive(Debug, Subcommand)]
enum Command {
    /// Measure links between host, GPUs and NUMA nodes
    ///
    /// Measures links: host and GPU, GPU and GPU, with intervals, the link each number went over, and the fraction of what that link can
    /// carry.
    #[command(args_conflicts_with_subcommands = true)]
    P2p(Box<P2pArgs>),
    /// Show the matrix of GPUs and NICs, slots and NUMA nodes
    ///
    /// Shows what is where: the matrix of GPUs and NICs, links, slots and NUMA nodes, of this machine or of a captured text.
    Topo(TopoArgs),
    /// Measure NUMA distance, bind programs, prove placement
    ///
    /// Measures how far host memory is from each GPU and node, proves where memory is, and starts programs bound to nodes.
    Numa(Box<NumaArgs>),
    /// Find what slows or breaks copies between GPUs
    ///
    /// Checks what slows or breaks copies between GPUs: IOMMU, ACS, links, limits, versions, variables.
    ///
    /// Exit code 1 where something is bad; 3 where nothing could be told or the backend that was asked for does not answer; 2 where
    /// a GPU that was asked for is not there; else 0, also where there are warnings or rules that could not tell.
    Doctor(DoctorArgs),
    /// Watch links, clocks and power beside a load
    ///
    /// Writes links, PCIe bytes, clocks, power and CPU use by NUMA node while something else runs: a line of text for each reading on
    /// a terminal, JSON lines elsewhere.
    Monitor(MonitorArgs),
}

#[derive(Debug, Args)]
struct P2pArgs {
    #[command(subcommand)]
    command: Option<P2pCommand>,
    #[command(flatten)]
    run: RunArgs,
}

#[derive(Debug, Subcommand)]
enum P2pCommand {
    /// Prints what an earlier run measured, also one that was killed.
    Show {
        /// A result folder, a journal.jsonl or a record.json, or an output of nvbandwidth.
        path: PathBuf,
        /// Print CSV instead of tables.
        #[arg(long)]
        csv: bool,
    },
    /// Compares two runs, also those of nvbandwidth: which numbers are worse, the worst first.
    ///
    /// Exit code 1 where a number or peer access is worse or was lost; 3 where a part of A was not tried in B or nothing can be
    /// compared; 2 where a file cannot be read or only one of them is simulated.
    Compare(CompareArgs),
    /// Loads devices for a while: writes and checks their memory, multiplies and adds, and counts what came out wrong.
    ///
    /// Exit code 5 where anything was wrong; 3 where a device failed or hung, or nothing could be loaded.
    Load(LoadArgs),
}

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
        Command::P2p(args) => match args.command {
            Some(P2pCommand::Show { path, csv }) => {
                forms::saved(&path, (csv, csv::links), foreign, show)
            }
            Some(P2pCommand::Compare(args)) => {
                forms::compared(&args.flags, || compare::run(&args, show))
            }
            Some(P2pCommand::Load(args)) => {
                interruptible(|interrupt| load::run(&args, interrupt, show))
            }
            None => interruptible(|interrupt| parent::run(&args.run, interrupt, show)),
        },
        Command::Topo(args) => ended(topo::run(&args, show)),
        Command::Doctor(args) => interruptible(|interrupt| doctor::run(&args, interrupt, show)),
        Command::Numa(args) => interruptible(|interrupt| numa::run(&args, interrupt, show)),
        Command::Monitor(args) => interruptible(|interrupt| monitor::run(&args, interrupt)),
    })
}

/// Runs the worker that a first argument stands for, and gives the exit code; `None` where it stands for none.
#[must_use]
pub fn worker(first: &str) -> Option<u8> {
    children::run(first).map(outputs::worked)
}

fn foreign(path: &Path) -> Result<(Document, bool), String> {
    let file = import::links::read(path).map_err(|error| error.to_string())?;
    Ok((view::foreign::links(&file), !file.values.is_empty()))
}
