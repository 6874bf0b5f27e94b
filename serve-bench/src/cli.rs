//! The command line: one subcommand each for what can be done with a serving engine.

use std::path::PathBuf;

use clap::{Parser, Subcommand};

use crate::explain::ExplainArgs;
use crate::study::{DemoArgs, StudyArgs};
use crate::{load, server};

/// Measures how a server of language models answers.
#[derive(Debug, Parser)]
#[command(version, max_term_width = 100)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Puts a load on a server with the OpenAI interface and measures TTFT, TPOT, ITL and end-to-end latency.
    Run(Box<load::Args>),
    /// Serves a simulated box over HTTP as vLLM would.
    Engine(Box<server::Args>),
    /// Runs the whole chain on this box: links, collectives, the server at each size under load, and why it is as fast as it is.
    Study(Box<StudyArgs>),
    /// Runs a study on a soft box with the embedded engine.
    Demo(DemoArgs),
    /// Explains result files of anyone's: why several GPUs give what they give.
    Explain(Box<ExplainArgs>),
    /// Prints what an earlier run measured, also one that was killed.
    Show {
        /// A result folder, a journal.jsonl or a record.json.
        path: PathBuf,
        /// Print CSV instead of tables.
        #[arg(long)]
        csv: bool,
    },
}
