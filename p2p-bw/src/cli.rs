//! The command line.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use program::command_line::{Sizes, sizes};

use crate::begun::{DeviceArgs, RunningArgs, SamplingArgs};
use crate::cases;
use crate::compare::CompareArgs;
use crate::doctor::DoctorArgs;
use crate::load::LoadArgs;
use crate::monitor::MonitorArgs;
use crate::numa::NumaArgs;
use crate::topo::TopoArgs;

/// What can be done with the links of a machine.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
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
pub(crate) struct P2pArgs {
    #[command(subcommand)]
    pub(crate) command: Option<P2pCommand>,
    #[command(flatten)]
    pub(crate) run: RunArgs,
}

#[derive(Debug, Subcommand)]
pub(crate) enum P2pCommand {
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

/// What to measure and how.
#[derive(Debug, Clone, Args)]
pub(crate) struct RunArgs {
    #[command(flatten)]
    pub(crate) on: DeviceArgs,

    /// Cases by key, with `*` and `?`, separated by commas, such as `h2d_*,local_ce`; `core` is the set that a
    /// bare run takes, `all` is every case. See --list.
    #[arg(long, value_name = "GLOB", default_value = cases::DEFAULT)]
    pub(crate) cases: String,

    /// List the cases and the devices, and measure nothing. With --json the devices go there as a record without numbers, for other
    /// programs.
    #[arg(long)]
    pub(crate) list: bool,

    /// Bytes of one copy, K, M and G being powers of 1024: sizes such as 64M, lists such as 4K,1M, ranges in powers of
    /// two such as 4K..1G; without a letter bytes. Default:
    /// 256M; on the host backend the power of two above the last-level cache, 64M to 1G; on a simulated machine 16M.
    #[arg(long, value_name = "SIZES", value_parser = sizes, allow_negative_numbers = true)]
    pub(crate) sizes: Option<Sizes>,

    #[command(flatten)]
    pub(crate) sampling: SamplingArgs,

    /// Leave peer access off and measure the paths through host memory instead.
    #[arg(long)]
    pub(crate) no_peer: bool,

    /// Try peer paths that are known to hang a host, or that did so before.
    #[arg(long)]
    pub(crate) risk: bool,

    #[command(flatten)]
    pub(crate) running: RunningArgs,

    /// Folder that remembers which peer copies were under way when a machine went down. Default: tplens in
    /// $XDG_STATE_HOME or ~/.local/state.
    #[arg(long, value_name = "DIR")]
    pub(crate) state_dir: Option<PathBuf>,
}
