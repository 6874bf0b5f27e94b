//! The command line of `predict`.

use std::path::PathBuf;

use clap::Args;

use crate::explain::CaseArgs;
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

    /// Sequences that decode at once; where it is not given, as many as the result of --tp1 had in flight, else 16.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(super) batch: Option<u32>,

    /// Prompt tokens of a request; where it is not given, those of --tp1, else 1024.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(super) input_tokens: Option<u32>,

    /// Output tokens of a request; where it is not given, those of --tp1, else 256.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(super) output_tokens: Option<u32>,

    #[command(flatten)]
    pub(super) case: CaseArgs,

    /// Result of a run on one GPU, as explain reads it.
    #[arg(long, value_name = "FILE")]
    pub(super) tp1: Option<PathBuf>,

    #[command(flatten)]
    pub(super) paper: PaperArgs,
}
