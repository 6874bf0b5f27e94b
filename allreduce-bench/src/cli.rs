//! The command line.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};
use inventory::BackendArg;
use measure::record::{CallMode, ElementType};
use program::command_line::{Sizes, seconds, sizes};
use program::outputs::Outputs;

/// Measures all-reduce and all-gather between the GPUs of a box, one process a rank, at the sizes that a model sends.
#[derive(Debug, Parser)]
#[command(version, args_conflicts_with_subcommands = true, max_term_width = 100)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
    #[command(flatten)]
    pub(crate) run: RunArgs,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Prints what an earlier run measured, also one that was killed.
    Show {
        /// A result folder, a journal.jsonl or a record.json.
        path: PathBuf,
        /// Print CSV instead of tables.
        #[arg(long)]
        csv: bool,
    },
}

/// What to measure and how.
#[derive(Debug, Clone, Args)]
pub(crate) struct RunArgs {
    /// Devices, one a rank: indexes, PCI addresses, UUIDs or MIG UUIDs, separated by commas, or `all`. Default: the first
    /// as many as --tp says; without that `all`, on the host backend `0,1`.
    #[arg(long, value_name = "LIST")]
    pub(crate) gpus: Option<String>,

    /// Whose driver to use. `auto` takes the first that answers, in the order of this list; host memory only on a machine
    /// that shows no GPU at all.
    #[arg(long, value_enum, default_value_t = BackendArg::Auto)]
    pub(crate) backend: BackendArg,

    /// List the devices, and measure nothing.
    #[arg(long)]
    pub(crate) list: bool,

    /// Bytes of each rank's message in an all-reduce, K, M and G being powers of 1024: sizes such as 64K, lists such as
    /// 4K,1M, ranges in powers of two such as 8..8M. Default: 1K..8M.
    #[arg(long, value_name = "SIZES", value_parser = sizes, conflicts_with = "model")]
    pub(crate) sizes: Option<Sizes>,

    /// Measure the all-reduce and all-gather sizes that this model sends: a shipped model's name, a config.json of
    /// Hugging Face, or a folder that holds one.
    #[arg(long, value_name = "NAME|FILE")]
    pub(crate) model: Option<String>,

    /// Tensor parallel size, which is the number of ranks. Default: the number of devices.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=64), allow_negative_numbers = true)]
    pub(crate) tp: Option<u32>,

    /// Sequences that decode in one step, with --model.
    #[arg(long, value_name = "LIST", default_value = "1,16,32", value_delimiter = ',', requires = "model", value_parser = clap::value_parser!(u32).range(1..=1_000_000), allow_negative_numbers = true)]
    pub(crate) batches: Vec<u32>,

    /// Also the sizes of steps with a prefill chunk of so many tokens, with --model.
    #[arg(long, value_name = "TOKENS", requires = "model", value_parser = clap::value_parser!(u32).range(1..=10_000_000), allow_negative_numbers = true)]
    pub(crate) prefill_chunk: Option<u32>,

    /// The engine runs without captured graphs (vLLM's --enforce-eager), so batches are not padded, with --model.
    #[arg(long, requires = "model")]
    pub(crate) eager: bool,

    /// The engine whose rules say which collectives a step has, with --model.
    #[arg(long, value_enum, default_value_t = EngineArg::Vllm, requires = "model")]
    pub(crate) engine: EngineArg,

    /// Type of the elements.
    #[arg(long, value_enum, default_value_t = DtypeArg::Bf16)]
    pub(crate) dtype: DtypeArg,

    /// How calls follow each other, separated by commas. Default: all that the backend has.
    #[arg(long, value_name = "LIST", value_enum, value_delimiter = ',')]
    pub(crate) modes: Vec<ModeArg>,

    /// Print which collectives each step has, and measure nothing, with --model.
    #[arg(long, requires = "model")]
    pub(crate) plan: bool,

    /// The collective library to load, such as a libnccl.so.2 beside the engine. Default: the first that the loader finds.
    #[arg(long, value_name = "FILE")]
    pub(crate) ccl: Option<PathBuf>,

    /// Timed samples of each number at most, ten times as many of host-synced calls; at least 6 are taken where this allows,
    /// so that there is an interval.
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=100_000), allow_negative_numbers = true)]
    pub(crate) samples: u32,

    /// Seconds to aim at for all samples together; 6 samples of each number are taken even when that takes longer.
    #[arg(long, value_name = "SECONDS", default_value = "30", value_parser = seconds, allow_negative_numbers = true)]
    pub(crate) budget: Duration,

    /// Do not compare the results with the exact sums.
    #[arg(long)]
    pub(crate) no_verify: bool,

    /// Seconds without progress after which a collective counts as hung and the processes of all ranks are ended.
    #[arg(long, value_name = "SECONDS", default_value = "20", value_parser = seconds, allow_negative_numbers = true)]
    pub(crate) deadline: Duration,

    /// Run on a soft box instead of this machine's devices: a built-in name or a box file. Its numbers are
    /// arithmetic, never measurements.
    #[arg(long, value_name = "BOX")]
    pub(crate) sim: Option<String>,

    #[command(flatten)]
    pub(crate) outputs: Outputs,
}

/// A serving engine by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum EngineArg {
    /// vLLM.
    Vllm,
    /// SGLang.
    Sglang,
}

/// A type of elements by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum DtypeArg {
    /// bfloat16.
    Bf16,
    /// IEEE 754 binary16.
    F16,
    /// IEEE 754 binary32.
    F32,
}

impl From<DtypeArg> for ElementType {
    fn from(named: DtypeArg) -> Self {
        match named {
            DtypeArg::Bf16 => Self::Bf16,
            DtypeArg::F16 => Self::F16,
            DtypeArg::F32 => Self::F32,
        }
    }
}

/// A mode by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ModeArg {
    /// Barrier, one call, wait, by the host's clock: launch included.
    HostSynced,
    /// Many calls queued one after another: mean of a call.
    BackToBack,
    /// Many calls in a captured graph: mean of a call without its launch.
    Graph,
}

impl From<ModeArg> for CallMode {
    fn from(named: ModeArg) -> Self {
        match named {
            ModeArg::HostSynced => Self::HostSynced,
            ModeArg::BackToBack => Self::BackToBack,
            ModeArg::Graph => Self::Graph,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use program::command_line::one_line;

    #[test]
    fn what_cannot_be_meant_is_one_line_that_names_the_value() {
        for (arguments, says) in [
            (&["--sizes", "1K", "--model", "m"][..], "--sizes"),
            (&["--plan"], "--model"),
            (&["--batches", "0", "--model", "m"], "'0'"),
            (&["--batches", "1,,2", "--model", "m"], "--batches"),
            (&["--eager"], "--model"),
            (&["--tp", "0"], "'0'"),
            (&["--dtype", "fp8"], "possible values: bf16"),
            (&["--modes", "graphs"], "possible values: host-synced"),
        ] {
            let parsed = Cli::try_parse_from(["allreduce-bench"].iter().chain(arguments));
            let line = one_line(&parsed.unwrap_err().render().to_string());
            assert!(line.contains(says), "no `{says}` in {line}");
        }
    }
}
