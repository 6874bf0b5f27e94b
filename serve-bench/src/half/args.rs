//! The command line of `half-model`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use program::command_line::seconds;
use tp_plan::Engine;

/// Prints how a server runs a rank's share of a model on one GPU: the time of a step of TP2 less its time is communication.
///
/// The share has the rank's heads, key-value heads, widths and part of the vocabulary, and weights that are made up
/// (`--load-format dummy`). Only its times mean something.
#[derive(Debug, Clone, Args)]
pub(crate) struct HalfModelArgs {
    /// The model: a shipped name, a config.json, or a folder that holds one.
    #[arg(long, value_name = "MODEL")]
    pub(super) model: String,

    /// Tensor parallel size that the share is of one rank.
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u32).range(2..=64))]
    pub(super) tp: u32,

    /// Engine that serves.
    #[arg(long, value_enum, default_value_t = EngineArg::Vllm)]
    pub(super) engine: EngineArg,

    /// Write the share's config.json into this folder; the command then names the folder. For a model whose configuration cannot
    /// be replaced by flags, such as the language part of Qwen2.5-VL, the only way.
    #[arg(long, value_name = "DIR")]
    pub(super) write: Option<PathBuf>,

    /// Print JSON instead of text.
    #[arg(long, conflicts_with = "run")]
    pub(super) json: bool,

    /// Start the server, put a closed-loop load on it and end it; the result is in --out.
    #[arg(long)]
    pub(super) run: bool,

    /// Requests in flight at once, with --run; as in the runs that it is compared with.
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = clap::value_parser!(u32).range(1..=16_384))]
    pub(super) concurrency: u32,

    /// Measured requests, with --run. Default: four for each in flight.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    pub(super) requests: Option<u32>,

    /// Prompt tokens of each request, with --run.
    #[arg(long, value_name = "N", default_value_t = 128, value_parser = clap::value_parser!(u32).range(1..=4_000_000))]
    pub(super) input_tokens: u32,

    /// Output tokens of each request, with --run.
    #[arg(long, value_name = "N", default_value_t = 128, value_parser = clap::value_parser!(u32).range(2..=4_000_000))]
    pub(super) output_tokens: u32,

    /// Seconds until the server must answer, with --run.
    #[arg(long, value_name = "SECONDS", default_value = "1800", value_parser = seconds)]
    pub(super) ready_timeout: Duration,

    /// Folder of the run, with --run: the server's log and the result.
    #[arg(long, value_name = "DIR", default_value = "half-model")]
    pub(super) out: PathBuf,

    /// The server's command up to what a half model adds, such as `vllm serve {model} --max-model-len 4096`; {model} becomes the
    /// model or the written folder, {port} the port. Default: the engine's own.
    #[arg(last = true, value_name = "SERVER WORDS")]
    pub(super) server: Vec<String>,
}

/// An engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum EngineArg {
    Vllm,
    Sglang,
}

impl EngineArg {
    pub(super) fn engine(self) -> Engine {
        match self {
            Self::Vllm => Engine::Vllm,
            Self::Sglang => Engine::Sglang,
        }
    }
}
