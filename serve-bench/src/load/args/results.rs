//! Where the result goes, and in whose words.

use std::path::PathBuf;

use clap::{Args as ClapArgs, ValueEnum};
use program::outputs::Outputs;
use view::export::VllmMetric;

use super::refused::within;
use crate::beside::BesideArgs;

/// Where the result goes.
#[derive(Debug, Clone, ClapArgs)]
#[command(next_help_heading = "Output")]
pub(in crate::load) struct Results {
    #[command(flatten)]
    pub(in crate::load) outputs: Outputs,

    /// What is printed: tables, or vLLM's block.
    #[arg(long, value_enum, default_value_t = Format::Table)]
    pub(in crate::load) format: Format,

    /// Write the JSON file of `vllm bench serve`.
    ///
    /// Under the name that it would give it.
    #[arg(long)]
    pub(in crate::load) save_result: bool,

    /// In that file: every request's figures, too. Texts are not kept.
    #[arg(
        long,
        hide_short_help = true,
        visible_alias = "detailed",
        requires = "save_result"
    )]
    pub(in crate::load) save_detailed: bool,

    /// Folder of that file, made where it is not there [default: the current one].
    #[arg(long, hide_short_help = true, value_name = "DIR")]
    pub(in crate::load) result_dir: Option<PathBuf>,

    /// Another name for that file.
    #[arg(long, hide_short_help = true, value_name = "FILE")]
    pub(in crate::load) result_filename: Option<PathBuf>,

    /// In that file and its name: a label instead of the backend.
    #[arg(long, hide_short_help = true, value_name = "TEXT")]
    pub(in crate::load) label: Option<String>,

    /// In that file: further keys.
    #[arg(long, hide_short_help = true, value_name = "KEY=VALUE", num_args = 1.., value_parser = pair)]
    pub(in crate::load) metadata: Vec<(String, String)>,

    /// In that file and vLLM's block: the metrics, of ttft, tpot, itl, e2el, client_queue_time, e2el_including_client_queue.
    #[arg(long, hide_short_help = true, value_name = "LIST", default_value = "ttft,tpot,itl,e2el", value_delimiter = ',', value_parser = metric)]
    pub(in crate::load) percentile_metrics: Vec<VllmMetric>,

    /// In that file and vLLM's block: the percentiles.
    #[arg(long, hide_short_help = true, value_name = "LIST", default_value = "99", value_delimiter = ',', value_parser = |text: &str| within(text, 0.0, 100.0))]
    pub(in crate::load) metric_percentiles: Vec<f64>,

    /// Write every request to this file as CSV, one line each, units in the head.
    #[arg(long, hide_short_help = true, value_name = "FILE")]
    pub(in crate::load) request_csv: Option<PathBuf>,

    /// Write the run to this file as a page.
    ///
    /// Figures, distributions and what went on over time, with nothing beside it.
    #[arg(long, value_name = "FILE")]
    pub(in crate::load) html: Option<PathBuf>,

    #[command(flatten)]
    pub(in crate::load) beside: BesideArgs,

    /// Show no progress.
    #[arg(long, hide_short_help = true)]
    pub(in crate::load) disable_tqdm: bool,
}

/// What is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(in crate::load) enum Format {
    /// Our tables.
    Table,
    /// vLLM's block.
    Vllm,
}

fn pair(text: &str) -> Result<(String, String), String> {
    let (key, value) = text
        .split_once('=')
        .ok_or_else(|| format!("`{text}` is not KEY=VALUE"))?;
    Ok((key.trim().to_owned(), value.trim().to_owned()))
}

fn metric(text: &str) -> Result<VllmMetric, String> {
    let names = VllmMetric::ALL.map(VllmMetric::key).join(", ");
    VllmMetric::ALL
        .into_iter()
        .find(|metric| metric.key() == text)
        .ok_or_else(|| format!("`{text}` is none of {names}"))
}
