//! The arguments of `doctor`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use inventory::BackendArg;
use program::command_line::seconds;

/// What to look at and how to show it.
#[derive(Debug, Clone, Args)]
pub(crate) struct DoctorArgs {
    /// Look at a simulated machine instead of this machine: a built-in name or a machine file. Limits of this machine's processes are left out.
    #[arg(long, value_name = "NAME", conflicts_with = "root")]
    pub(crate) sim: Option<String>,

    /// Read below this folder, which holds copies of a machine's `sys` and `proc`, instead of this machine. No driver is asked.
    #[arg(long, value_name = "FOLDER")]
    pub(crate) root: Option<PathBuf>,

    /// Devices: indexes, PCI addresses, UUIDs or MIG UUIDs, separated by commas, or `all`.
    #[arg(
        long,
        value_name = "LIST",
        default_value = "all",
        conflicts_with = "root",
        allow_negative_numbers = true
    )]
    pub(crate) gpus: String,

    /// Whose driver to ask. `auto` asks each, in the order of this list, until one answers; `host` asks none.
    #[arg(long, value_enum, default_value_t = BackendArg::Auto, conflicts_with = "root")]
    pub(crate) backend: BackendArg,

    /// Only these rules, by id, separated by commas; see --list.
    #[arg(long, value_name = "ID,..", value_delimiter = ',')]
    pub(crate) only: Vec<String>,

    /// Show what is ok, too, instead of a count of it.
    #[arg(long)]
    pub(crate) all: bool,

    /// List the rules with what each reads, and look at nothing.
    #[arg(long)]
    pub(crate) list: bool,

    /// Print JSON instead of text.
    #[arg(long)]
    pub(crate) json: bool,

    /// Seconds after which a driver or library that does not answer counts as hung and its process is ended.
    #[arg(long, value_name = "SECONDS", default_value = "20", value_parser = seconds, allow_negative_numbers = true)]
    pub(crate) deadline: Duration,
}
