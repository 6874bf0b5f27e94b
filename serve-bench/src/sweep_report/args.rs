//! The command line of `tplens serve sweep-report`.

use std::path::PathBuf;

use clap::Args;

/// What a narrower link costs: TTFT and TPOT of one configuration over those of another, by model and number of prompts, from
/// the sweeps of one or several machines.
///
/// A pair of single cards in one machine is the negative control, whose differences are the floor below which nothing is reported; a
/// pair in two machines is marked, since the machine differs, too. Exit code 3 where files cannot be placed or nothing can be
/// compared.
#[derive(Debug, Clone, Args)]
pub(crate) struct SweepReportArgs {
    /// Folders of `tplens serve sweep`, or with the JSON of `vllm bench serve`, which says nothing of its configuration and is
    /// placed by its name: CONFIG_MODEL_TPnINPUT_npN_TIMESTAMP.json (input 1024 or 1k).
    #[arg(value_name = "DIR", required = true)]
    pub(super) folders: Vec<PathBuf>,

    /// What a configuration is, as LABEL=LINK@MACHINE, such as `B=x8@ab`; several. LABEL is a whole label (`1A`) or what follows
    /// its number (`A`). In addition to the `[setups]` of plans.
    #[arg(long, value_name = "LABEL=LINK@MACHINE")]
    pub(super) setup: Vec<String>,

    /// A plan with `[setups]`, where the folders hold none; see serve-bench/examples/r9700.toml.
    #[arg(long, value_name = "PLAN")]
    pub(super) plan: Option<PathBuf>,

    /// Write the report to this file as JSON, too; `-` for standard output instead of the text.
    #[arg(long, value_name = "FILE")]
    pub(super) json: Option<PathBuf>,

    /// Write the report to this file as a page, too.
    #[arg(long, value_name = "FILE")]
    pub(super) html: Option<PathBuf>,
}
