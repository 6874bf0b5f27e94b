//! The command line of `predict`.

use std::path::PathBuf;

use clap::Args;

use crate::explain::EngineArgs;
use crate::split::PaperArgs;

/// Predicts a decode step, TPOT, TTFT and speed-up of a model on one GPU and on several, with intervals.
///
/// Without results it starts from the peak rates of the GPU and a curve of collectives; with --tp1 from a measured step.
#[derive(Debug, Clone, Args)]
pub(crate) struct PredictArgs {
    /// Model to serve: a shipped name, a config.json, or a folder that holds one.
    #[arg(long, value_name = "MODEL")]
    pub(super) model: String,

    /// Tensor parallel sizes to predict.
    #[arg(long, value_name = "N,...", value_delimiter = ',', default_value = "1,2", value_parser = clap::value_parser!(u32).range(1..=64))]
    pub(super) tp: Vec<u32>,

    /// Sequences that decode at once; where it is not given, as many as the result of --tp1 had in flight.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(super) batch: Option<u32>,

    /// Prompt tokens of a request; where it is not given, those of --tp1, else 1024.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(super) input_tokens: Option<u32>,

    /// Output tokens of a request; where it is not given, those of --tp1, else 256.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(super) output_tokens: Option<u32>,

    /// Box to predict for: a built-in box or a box file.
    #[arg(long = "box", value_name = "BOX", required_unless_present_any = ["links", "tp1", "gpu"])]
    pub(super) box_name: Option<String>,

    /// The GPUs' name, such as "H100" or "B200", where no box is described: over NVLink where their board has it.
    #[arg(long, value_name = "NAME", conflicts_with_all = ["box_name", "links"])]
    pub(super) gpu: Option<String>,

    /// Links of the box, of tplens p2p.
    #[arg(long, value_name = "FILE")]
    pub(super) links: Option<PathBuf>,

    /// Collective times of the box: of tplens allreduce, nccl-tests (text or JSON), or CSV with the columns op,ranks,bytes,us and
    /// mode, which says how calls were timed and decides how good the evidence is: graph (in a captured graph), interleaved (with work
    /// between the calls), back_to_back or host_synced. May be given several times.
    #[arg(long, value_name = "FILE")]
    pub(super) allreduce: Vec<PathBuf>,

    /// Result of a run on one GPU, as explain reads it.
    #[arg(long, value_name = "FILE")]
    pub(super) tp1: Option<PathBuf>,

    #[command(flatten)]
    pub(super) engine: EngineArgs,

    #[command(flatten)]
    pub(super) paper: PaperArgs,

    /// Replaces something that is assumed, such as memory_efficiency=0.8..0.85; may be given several times. The long help
    /// of explain lists the names.
    #[arg(long, value_name = "NAME=LOW..HIGH")]
    pub(super) prior: Vec<String>,

    /// Write the prediction to this file as JSON; `-` for standard output instead of the text.
    #[arg(long, value_name = "FILE")]
    pub(super) json: Option<PathBuf>,
}
