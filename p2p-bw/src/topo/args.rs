//! The command line of `topo`.

use std::path::PathBuf;

use clap::Args;

/// What to show and where from.
#[derive(Debug, Clone, Args)]
pub(crate) struct TopoArgs {
    /// Read a simulated machine instead of this machine: a built-in name or a machine file.
    #[arg(long, value_name = "NAME", conflicts_with_all = ["root", "from"])]
    pub(crate) sim: Option<String>,

    /// Read a copy of another machine's files: a folder that holds `sys` and, where there is one, `proc`. No tool in it is run.
    #[arg(long, value_name = "FOLDER", conflicts_with = "from")]
    pub(crate) root: Option<PathBuf>,

    /// Show what a captured text says, `-` for standard input: the output of nvidia-smi topo -m, topo -p2p or -L, rocm-smi
    /// --showtopo, amd-smi topology, mx-smi topo or -L, numactl -H, also several of them in one text.
    #[arg(long, value_name = "FILE")]
    pub(crate) from: Option<PathBuf>,

    /// Print JSON instead of tables.
    #[arg(long)]
    pub(crate) json: bool,
}
