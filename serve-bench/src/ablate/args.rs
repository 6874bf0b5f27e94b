//! The command line of `ablate`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use program::command_line::seconds;
use record::redacted_arguments;
use serde_json::{Value, json};

use super::arm::names;
use crate::study::backends;
use crate::study::load::LoadArgs;

/// Whether the step follows the link: starts the server again and again, each time with one thing changed, and times its
/// collectives in the same environment. The engine is told to leave every all-reduce to the library. Goes on where it was broken
/// off when started again with the same settings and folder.
#[derive(Debug, Clone, Args)]
pub(crate) struct AblateArgs {
    /// Model that is served, whose message sizes are measured: a shipped name, a config.json, or a folder that holds one.
    #[arg(long, value_name = "MODEL")]
    pub(super) model: String,

    /// Devices, as tplens p2p takes them; as many as --tp. Default: the first of the machine.
    #[arg(long, value_name = "LIST")]
    pub(super) gpus: Option<String>,

    /// Whose driver to use, as tplens p2p takes it.
    #[arg(long, default_value = "auto", value_parser = backends())]
    pub(super) backend: String,

    /// Tensor parallel size of the arms.
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u32).range(2..=64))]
    pub(super) tp: u32,

    #[command(flatten)]
    pub(super) load: LoadArgs,

    /// What is changed; the baseline is always there. Default: what the machine can do of them.
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = names())]
    pub(super) arms: Vec<String>,

    /// Microseconds that the arm delay adds to each all-reduce, one arm for each.
    #[arg(long, value_name = "US", default_value = "20,50", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(super) delays: Vec<u32>,

    /// The library that adds the delay: in an archive below `shim`, in a checkout made by `cargo xtask shim`.
    #[arg(long, value_name = "FILE", conflicts_with = "sim")]
    pub(super) shim: Option<PathBuf>,

    /// Launches of each arm. A round has one of each in random order, and the next round the reverse of it.
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(super) launches: u32,

    /// Seed of the order.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(super) seed: u64,

    /// Seconds for the collectives of each launch.
    #[arg(long, value_name = "SECONDS", default_value = "10", value_parser = seconds)]
    pub(super) budget: Duration,

    /// The collective library that is timed, as tplens allreduce takes it; it must be the one that the engine loads.
    #[arg(long, value_name = "PATH")]
    pub(super) ccl: Option<PathBuf>,

    /// Run on a simulated machine with the embedded engine: a built-in name or a box file. Its numbers are arithmetic, never measurements.
    #[arg(long, value_name = "BOX")]
    pub(super) sim: Option<String>,

    /// Folder of the ablation. Default: a new one under tplens-results.
    #[arg(long, value_name = "DIR")]
    pub(super) out: Option<PathBuf>,

    /// The server command after `--`. vLLM, SGLang and tplens serve engine get their size and port added; in any other command
    /// write {tp} and {port} where the numbers belong. Not with --sim.
    #[arg(last = true, value_name = "SERVER COMMAND")]
    pub(super) server: Vec<String>,
}

impl AblateArgs {
    /// Whether the flags fit together.
    ///
    /// # Errors
    /// They do not, in words.
    pub(super) fn check(&self) -> Result<(), String> {
        if self.sim.is_some() && !self.server.is_empty() {
            return Err(
                "--sim starts the embedded engine: leave the server command out".to_owned(),
            );
        }
        if self.sim.is_none() && self.server.is_empty() {
            return Err("no server command: write it after `--`, such as `-- vllm serve MODEL`, or simulate a machine with --sim BOX".to_owned());
        }
        let named = self.gpus.as_ref().map(|list| list.split(',').count());
        if let Some(named) = named.filter(|named| *named != self.tp as usize) {
            let tp = self.tp;
            return Err(format!(
                "--gpus names {named} device(s) and --tp {tp} needs {tp}"
            ));
        }
        Ok(())
    }

    /// What decides, with the machine, what is measured and in which order. A folder holds one ablation, and this never changes.
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
            "arms": self.arms,
            "delays": self.delays,
            "launches": self.launches,
            "seed": self.seed,
            "ccl": self.ccl,
            "shim": self.shim,
            "sim": self.sim,
            // Kept without the values of flags that name a secret.
            "server": redacted_arguments(self.server.iter().cloned()),
        })
    }
}
