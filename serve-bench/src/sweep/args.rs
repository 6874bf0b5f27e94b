//! The command line of `tplens serve sweep`.

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

    /// Measure again the cells whose requests failed or that were limited by the client; what was there is kept beside, as
    /// NAME.broken-1. To measure another one again, delete its folder.
    #[arg(long, conflicts_with = "list")]
    pub(super) redo: bool,

    /// List the cells and the server commands, and whether each is done; run nothing.
    #[arg(long)]
    pub(super) list: bool,

    /// Folder of the sweep. Default: the plan's name under tplens-results, so that the same plan goes on there.
    #[arg(long, value_name = "DIR")]
    pub(super) out: Option<PathBuf>,
}
