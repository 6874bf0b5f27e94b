//! The command line of `numa exec`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;
use inventory::BackendArg;

use crate::numa::refuse::Refuse;

/// What to start and where.
#[derive(Debug, Clone, Args)]
pub(crate) struct ExecArgs {
    /// The GPUs that the program uses: indexes, PCI addresses or UUIDs, separated by commas, or `all`. Default: `all`, on the
    /// host backend `0,1`. Which GPUs the program sees stays its own matter.
    #[arg(long, value_name = "LIST", allow_negative_numbers = true)]
    pub(super) gpus: Option<String>,

    /// Whose driver to ask for the GPUs.
    #[arg(long, value_enum, default_value_t = BackendArg::Auto)]
    pub(super) backend: BackendArg,

    /// Ask a simulated machine instead, together with --dry-run: a built-in name or a machine file.
    #[arg(long, value_name = "NAME")]
    pub(super) sim: Option<String>,

    /// NUMA nodes to bind to, separated by commas, instead of those of GPUs; no driver is asked.
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = node, conflicts_with_all = ["gpus", "backend", "sim"])]
    pub(super) node: Vec<u32>,

    /// Move each process that opens a GPU to the nodes of the GPUs it opened, with the memory that it has by then.
    #[arg(long)]
    pub(super) per_rank: bool,

    /// Do not start the program where a part of the binding is refused; exit code 3.
    #[arg(long)]
    pub(super) strict: bool,

    /// Write where every process ended up to this file as JSON.
    #[arg(long, value_name = "FILE")]
    pub(super) report: Option<PathBuf>,

    /// Print the numactl command that binds the same way, and start nothing.
    #[arg(long)]
    pub(super) dry_run: bool,

    #[command(flatten)]
    pub(super) refuse: Refuse,

    /// Become the program and end with this process.
    #[arg(long, value_name = "PID", hide = true)]
    pub(super) r#become: Option<u32>,

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
