//! The command line of `ablate`.

use std::path::PathBuf;

use clap::Args;
use serde_json::{Value, json};

use super::arm::names;
use crate::study::subject::SubjectArgs;

/// Whether the step follows the link: starts the server again and again, each time with one thing changed, and times its
/// collectives in the same environment. The engine is told to leave every all-reduce to the library. Goes on where it was broken
/// off when started again with the same settings and folder.
#[derive(Debug, Clone, Args)]
pub(crate) struct AblateArgs {
    #[command(flatten)]
    pub(super) subject: SubjectArgs,

    /// Tensor parallel size of the arms.
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u32).range(2..=64))]
    pub(super) tp: u32,

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

    /// The collective library that is timed, as tplens allreduce takes it; it must be the one that the engine loads.
    #[arg(long, value_name = "PATH")]
    pub(super) ccl: Option<PathBuf>,
}

impl AblateArgs {
    /// Whether the flags fit together.
    ///
    /// # Errors
    /// They do not, in words.
    pub(super) fn check(&self) -> Result<(), String> {
        let subject = &self.subject;
        if subject.sim.is_some() && !subject.server.is_empty() {
            return Err(
                "--sim starts the embedded engine: leave the server command out".to_owned(),
            );
        }
        let named = subject.gpus.as_ref().map(|list| list.split(',').count());
        match named.filter(|named| *named != self.tp as usize) {
            Some(named) => Err(format!(
                "--gpus names {named} device(s) and --tp {tp} needs {tp}",
                tp = self.tp
            )),
            None => Ok(()),
        }
    }

    /// What decides, with the machine, what is measured and in which order. A folder holds one ablation, and this never changes.
    pub(super) fn settings(&self) -> Value {
        self.subject.settings(json!({
            "tp": self.tp,
            "arms": self.arms,
            "delays": self.delays,
            "launches": self.launches,
            "ccl": self.ccl,
            "shim": self.shim,
        }))
    }
}
