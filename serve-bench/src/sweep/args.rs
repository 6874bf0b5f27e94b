//! The command line of `serve-bench sweep`.

use std::path::PathBuf;

use clap::Args;

/// Runs every cell of a plan, grouped by server, each into a folder of its own. Started again with the same plan and folder it goes
/// on: a cell whose record is complete is not done again, and what was broken off is set aside.
///
/// Exit code 0 where every cell is done, 3 where one is not or its requests failed.
#[derive(Debug, Clone, Args)]
pub(crate) struct SweepArgs {
    /// The plan, a TOML file; see serve-bench/examples/r9700.toml.
    #[arg(value_name = "PLAN")]
    pub(super) plan: PathBuf,

    /// Only cells with one of these values, such as `model=8B,14B` or `n=1..20`; several are all kept. Keys: config, model,
    /// tp, input, output, n, concurrency, rate.
    #[arg(long, value_name = "KEY=VALUES")]
    pub(super) only: Vec<String>,

    /// Measure again a cell that is done, by its name, or `failed` for every one that had failed requests or was limited by the
    /// client; several may be given. What was there is kept in the sweep's folder, as aside/NAME.aside-1.
    #[arg(long, value_name = "NAME|failed", conflicts_with_all = ["list", "check"])]
    pub(super) redo: Vec<String>,

    /// List the cells and the server commands, and whether each is done; run nothing.
    #[arg(long)]
    pub(super) list: bool,

    /// Check whether each server has the memory for its model, by arithmetic from server.memory or server.box; run nothing. Exit
    /// code 3 where one cannot run. Before a sweep the same check leaves out what certainly does not fit.
    #[arg(long, conflicts_with = "list")]
    pub(super) check: bool,

    /// Folder of the sweep. Default: the plan's name under tplens-results, so that the same plan goes on there.
    #[arg(long, value_name = "DIR")]
    pub(super) out: Option<PathBuf>,
}
