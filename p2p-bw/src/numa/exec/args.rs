//! The command line of `numa exec`.

use std::ffi::OsString;

use clap::Args;

use crate::device_args::DeviceArgs;

/// What to start and where.
#[derive(Debug, Clone, Args)]
pub(crate) struct ExecArgs {
    /// The GPUs that the program uses, whose nodes it is bound to. Which GPUs the program sees stays its own matter. A simulated
    /// machine goes together with --dry-run.
    #[command(flatten)]
    pub(super) on: DeviceArgs,

    /// NUMA nodes to bind to, separated by commas, instead of those of GPUs; no driver is asked.
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = node, conflicts_with_all = ["gpus", "backend", "sim"])]
    pub(super) node: Vec<u32>,

    /// Move each process that opens a GPU to the nodes of the GPUs it opened, with the memory that it has by then.
    #[arg(long)]
    pub(super) per_rank: bool,

    /// Do not start the program where a part of the binding is refused; exit code 3.
    #[arg(long)]
    pub(super) strict: bool,

    /// Print the numactl command that binds the same way, and start nothing.
    #[arg(long)]
    pub(super) dry_run: bool,

    /// Move workers of a program that has started.
    #[arg(long, value_name = "PID", hide = true)]
    pub(super) follow: Option<u32>,

    /// The program and its arguments, after `--`.
    #[arg(last = true, value_name = "PROGRAM")]
    pub(super) program: Vec<OsString>,
}

/// One node, for clap.
fn node(text: &str) -> Result<u32, String> {
    text.trim()
        .parse()
        .map_err(|_| format!("`{text}` is not a node number"))
}
