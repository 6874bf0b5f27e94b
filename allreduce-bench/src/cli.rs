//! The command line.

use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgGroup, Args, Subcommand};
use inventory::BackendArg;
use program::command_line::{Sizes, seconds, sizes};
use program::outputs::Outputs;
use record::{CallMode, CollectiveKind, ElementType};

use crate::compare::CompareArgs;
use crate::launch::LaunchArgs;
use crate::values::{EngineArg, one_of};

/// What can be done with collectives.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Measure collectives at the sizes that a model sends
    ///
    /// Measures collectives between GPUs, one process a rank, at the sizes that a model sends.
    #[command(args_conflicts_with_subcommands = true)]
    Allreduce(Box<AllreduceArgs>),
}

#[derive(Debug, Args)]
pub(crate) struct AllreduceArgs {
    #[command(subcommand)]
    pub(crate) command: Option<AllreduceCommand>,
    #[command(flatten)]
    pub(crate) run: RunArgs,
}

#[derive(Debug, Subcommand)]
pub(crate) enum AllreduceCommand {
    /// Prints what an earlier run measured, also one that was killed.
    Show {
        /// A result folder, a journal.jsonl or a record.json, or an output of nccl-tests or rccl-tests.
        path: PathBuf,
        /// Print CSV instead of tables.
        #[arg(long)]
        csv: bool,
    },
    /// Compares two files of collective times, the first being the baseline.
    ///
    /// Exit code 0 where nothing is worse, 1 on a regression or a number that is lost, 3 where a part of the baseline was not
    /// compared.
    Compare(CompareArgs),
    /// Loads the collective library, with or without a GPU, and says what it is: version, file, whether it makes the id of a
    /// communicator, and its words when a communicator of one rank is made.
    ///
    /// Exit code 0 where it answers, 3 where it does not load.
    Library(LibraryArgs),
}

/// Which library to load.
#[derive(Debug, Clone, Args)]
pub(crate) struct LibraryArgs {
    /// Whose library. `auto` takes the first that loads, in the order of this list.
    #[arg(long, value_enum, default_value_t = BackendArg::Auto)]
    pub(crate) backend: BackendArg,

    /// The library's file, or a folder that has it, such as a Python environment. Default: the first that the loader finds.
    #[arg(long, value_name = "PATH")]
    pub(crate) ccl: Option<PathBuf>,

    /// Seconds after which loading it, or making a communicator, counts as hung and its process is ended.
    #[arg(long, value_name = "SECONDS", default_value = "20", value_parser = seconds, allow_negative_numbers = true)]
    pub(crate) deadline: Duration,
}

/// What to measure and how.
#[derive(Debug, Clone, Args)]
#[command(group(ArgGroup::new("of_engine").args(["model", "engine_python"]).multiple(true)))]
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

    /// Operations, separated by commas: all_reduce, all_gather, reduce_scatter.
    #[arg(long, value_name = "LIST", value_parser = kind, value_delimiter = ',', default_value = "all_reduce", conflicts_with = "model")]
    pub(crate) ops: Vec<CollectiveKind>,

    /// Bytes of a rank's message, K, M and G being powers of 1024: sizes such as 64K, lists such as 4K,1M, ranges such as
    /// 8..8M, which are powers of two. It is the part that a rank contributes to an all-gather, and the part that it receives from
    /// a reduce-scatter.
    #[arg(long, value_name = "SIZES", default_value = "8..8M", value_parser = sizes, conflicts_with = "model")]
    pub(crate) sizes: Sizes,

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

    /// The engine whose rules say which collectives a step has, with --model, and whose own all-reduce is timed, with
    /// --engine-python.
    #[arg(long, value_enum, default_value_t = EngineArg::Vllm, requires = "of_engine")]
    pub(crate) engine: EngineArg,

    /// Time also the all-reduce that a serving engine does itself, at the same sizes and in the same modes:
    /// the Python that the engine runs in, its interpreter or the environment's folder. Its ranks are processes of their own, on
    /// the same devices, after those of the library.
    #[arg(long, value_name = "PATH", conflicts_with = "sim")]
    pub(crate) engine_python: Option<PathBuf>,

    /// Types of the elements, separated by commas: bf16, f16, f32.
    #[arg(long, value_name = "LIST", value_parser = element, value_delimiter = ',', default_value = "bf16")]
    pub(crate) dtype: Vec<ElementType>,

    /// How calls follow each other, separated by commas; times of different modes are different numbers. host-synced: barrier, one
    /// call, wait, by the host's clock. back-to-back: calls queued one after another. graph: calls in a captured graph, without
    /// their launch. interleaved: calls with the device's own work between them, less the time of that work. Default: all that
    /// the backend has; on the host backend without interleaved.
    #[arg(long, value_name = "LIST", value_parser = |name: &str| one_of(&CallMode::ALL, name), value_delimiter = ',')]
    pub(crate) modes: Vec<CallMode>,

    /// Microseconds of the device's own work between two calls of mode interleaved.
    #[arg(long, value_name = "US", default_value = "50", value_parser = gap, allow_negative_numbers = true)]
    pub(crate) gap: f64,

    /// Print which collectives each step has, and measure nothing, with --model; with --json as a record without times.
    #[arg(long, requires = "model", conflicts_with = "csv")]
    pub(crate) plan: bool,

    /// The collective library to load: its file, or a folder that has it, such as the engine's Python environment. Default: the
    /// first that the loader finds.
    #[arg(long, value_name = "PATH")]
    pub(crate) ccl: Option<PathBuf>,

    /// Timed samples of each number at most, ten times as many of host-synced calls; at least 6 are taken where this allows,
    /// so that there is an interval.
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=100_000), allow_negative_numbers = true)]
    pub(crate) samples: u32,

    /// Seconds to aim at for all samples together; 6 samples of each number are taken even when that
    /// takes longer.
    #[arg(long, value_name = "SECONDS", default_value = "30", value_parser = seconds, allow_negative_numbers = true)]
    pub(crate) budget: Duration,

    /// Do not compare the results with the exact sums.
    #[arg(long)]
    pub(crate) no_verify: bool,

    /// Try direct copies between devices also where they are known to hang the host.
    #[arg(long)]
    pub(crate) risk: bool,

    /// Seconds without progress after which a collective counts as hung and the processes of all ranks are ended.
    #[arg(long, value_name = "SECONDS", default_value = "20", value_parser = seconds, allow_negative_numbers = true)]
    pub(crate) deadline: Duration,

    /// Run on a simulated machine instead of this machine's devices: a built-in name or a machine file. Its numbers are
    /// arithmetic, never measurements.
    #[arg(long, value_name = "NAME")]
    pub(crate) sim: Option<String>,

    #[command(flatten)]
    pub(crate) launch: LaunchArgs,

    #[command(flatten)]
    pub(crate) outputs: Outputs,
}

/// An operation that is measured, for clap.
fn kind(name: &str) -> Result<CollectiveKind, String> {
    use CollectiveKind::{AllGather, AllReduce, ReduceScatter};
    one_of(&[AllReduce, AllGather, ReduceScatter], name)
}

/// A type of elements that is reduced, by its name.
fn element(name: &str) -> Result<ElementType, String> {
    use ElementType::{Bf16, F16, F32};
    one_of(&[Bf16, F16, F32], name)
}

/// Parses the time of the work between two calls, in microseconds, for clap.
fn gap(text: &str) -> Result<f64, String> {
    let value = text.parse().ok();
    let value = value.filter(|value: &f64| *value > 0.0 && *value <= 1e5);
    value.ok_or_else(|| format!("`{text}` is not above 0 and at most 100000 microseconds"))
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
            (&["--dtype", "fp8"], "one of bf16"),
            (&["--modes", "graphs"], "one of host_synced"),
            (&["--ops", "reduce"], "one of all_reduce"),
            (&["--ops", "all_gather", "--model", "m"], "--ops"),
            (&["--engine", "vllm"], "--engine-python"),
            (&["--engine-python", "p", "--sim", "l40x4"], "--sim"),
            (&["--gap", "0"], "microseconds"),
            (&["--gap", "-5"], "microseconds"),
        ] {
            let line = RunArgs::augment_args(clap::Command::new("allreduce"));
            let parsed = line.try_get_matches_from(["allreduce"].iter().chain(arguments));
            let line = one_line(&parsed.unwrap_err().render().to_string());
            assert!(line.contains(says), "no `{says}` in {line}");
        }
    }
}
