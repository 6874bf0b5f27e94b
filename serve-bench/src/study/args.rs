//! The command line of `study`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use clap::builder::PossibleValuesParser;
use program::command_line::seconds;
use record::redacted_arguments;
use serde_json::{Value, json};

use super::load::LoadArgs;
use crate::split::study::ApartArgs;

/// The whole chain on this box: links, collectives at the model's sizes, the server started once for each size, load, and why the
/// second GPU gives what it gives. Goes on where it was broken off when started again with the same settings and folder.
#[derive(Debug, Clone, Args)]
pub(crate) struct StudyArgs {
    /// Model whose message sizes are measured: a shipped name, a config.json, or a folder that holds one.
    #[arg(long, value_name = "MODEL")]
    pub(crate) model: String,

    /// Devices, as tplens p2p takes them. Default: the first of the machine, as many as the largest of --tp.
    #[arg(long, value_name = "LIST")]
    pub(crate) gpus: Option<String>,

    /// Whose driver to use, as tplens p2p takes it.
    #[arg(long, default_value = "auto", value_parser = backends())]
    pub(crate) backend: String,

    /// Tensor parallel sizes, ascending; 1 is what the others are compared with. One whose weights and cache do not go into the GPUs'
    /// memory, where that is known, is left out.
    #[arg(long, value_name = "LIST", default_value = "1,2", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=64))]
    pub(crate) tp: Vec<u32>,

    #[command(flatten)]
    pub(crate) load: LoadArgs,

    /// Seconds for the collectives of each size, as tplens allreduce takes it.
    #[arg(long, value_name = "SECONDS", default_value = "30", value_parser = seconds)]
    pub(crate) budget: Duration,

    /// Study a simulated machine instead of this one: a built-in name or a machine file; without a server command with the embedded
    /// engine. Its numbers are arithmetic, never measurements.
    #[arg(long, value_name = "BOX")]
    pub(crate) sim: Option<String>,

    /// Folder of the study. Default: a new one under tplens-results.
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) apart: ApartArgs,

    /// The server command after `--`, started and ended once for each of --tp. vLLM, SGLang and serve engine get their
    /// size and port added; in any other command write {tp} and {port} where the numbers belong.
    #[arg(last = true, value_name = "SERVER COMMAND")]
    pub(crate) server: Vec<String>,
}

/// The names that tplens p2p takes for --backend.
pub(crate) fn backends() -> PossibleValuesParser {
    let named = device::Built::ALL.iter().map(|built| built.name());
    ["auto"].into_iter().chain(named).into()
}

impl StudyArgs {
    /// Whether the flags fit together.
    ///
    /// # Errors
    /// Sizes that are not ascending.
    pub(super) fn check(&self) -> Result<(), String> {
        if !self.tp.is_sorted_by(|a, b| a < b) {
            return Err("--tp must name each size once, ascending, such as 1,2".to_owned());
        }
        if self.tp.len() > 1 && self.tp[0] != 1 {
            return Err("--tp has several sizes without 1, which is what the others are compared with: add it, or study one size".to_owned());
        }
        Ok(())
    }

    /// What decides what is measured. A folder holds one study, and this never changes.
    pub(super) fn settings(&self) -> Value {
        json!({
            "schema": 1,
            "model": self.model,
            "gpus": self.gpus,
            "backend": self.backend,
            "tp": self.tp,
            "concurrency": self.load.concurrency,
            "requests": self.load.requests(),
            "input_tokens": self.load.input_tokens,
            "output_tokens": self.load.output_tokens,
            "sim": self.sim,
            // Kept without the values of flags that name a secret.
            "server": redacted_arguments(self.server.iter().cloned()),
        })
    }
}
