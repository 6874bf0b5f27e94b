//! The command line of `half`.

use std::path::PathBuf;

use clap::Args;
use tp_plan::Engine;

use crate::study::load::LoadArgs;

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
    #[arg(long, default_value = "vllm", value_parser = ["vllm", "sglang"])]
    engine: String,

    /// Write the share's config.json into this folder; the command then names the folder. For a model whose configuration cannot
    /// be replaced by flags, such as the language part of Qwen2.5-VL, the only way.
    #[arg(long, value_name = "DIR")]
    pub(super) write: Option<PathBuf>,

    /// Start the server, put a closed-loop load on it and end it; the result is in --out.
    #[arg(long)]
    pub(super) run: bool,

    /// Run on a simulated machine with the embedded engine, with --run: a built-in name or a box file. Its matrix products run at the rates
    /// that a rank has there. Its numbers are arithmetic, never measurements.
    #[arg(long, value_name = "BOX", requires = "run", conflicts_with_all = ["engine", "server"])]
    pub(super) sim: Option<String>,

    #[command(flatten, next_help_heading = "Load, with --run")]
    pub(super) load: LoadArgs,

    /// Folder of the run, with --run: the server's log and the result.
    #[arg(long, value_name = "DIR", default_value = "half-model")]
    pub(super) out: PathBuf,

    /// The server's command up to what a half model adds, such as `vllm serve {model} --max-model-len 4096`; {model} becomes the
    /// model or the written folder, {port} the port. Default: the engine's own.
    #[arg(last = true, value_name = "SERVER WORDS")]
    pub(super) server: Vec<String>,
}

impl HalfModelArgs {
    /// Engine that serves.
    pub(super) fn engine(&self) -> Engine {
        match self.engine.as_str() {
            "sglang" => Engine::Sglang,
            _ => Engine::Vllm,
        }
    }
}
