//! The command line: one subcommand each for what can be done with a serving engine.

use std::path::PathBuf;

use clap::{Parser, Subcommand};

use crate::ablate::AblateArgs;
use crate::compare::CompareArgs;
use crate::engine_log::EngineLogArgs;
use crate::explain::ExplainArgs;
use crate::half::HalfModelArgs;
use crate::page::PageArgs;
use crate::predict::PredictArgs;
use crate::slo::SloArgs;
use crate::study::{DemoArgs, StudyArgs};
use crate::sweep::SweepArgs;
use crate::sweep_report::SweepReportArgs;
use crate::validate::ValidateArgs;
use crate::{load, selftest, server};

/// What the codes of `measure::exit` mean here.
const EXIT_CODES: &str = "Exit codes: 0 done, 2 wrong command line or input, 3 inconclusive (requests failed, nothing could be measured or explained), 4 not written or a fault of the program, 5 wrong data (in a study), 129, 130, 143 ended by SIGHUP, SIGINT, SIGTERM with what was measured kept";

/// Measures how a server of language models answers.
#[derive(Debug, Parser)]
#[command(version, max_term_width = 100, after_help = EXIT_CODES)]
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
    /// Measures this program's own error on this machine, against a server of known schedule.
    Selftest(Box<selftest::Args>),
    /// The server of `selftest`, by itself.
    #[command(hide = true)]
    KnownSchedule(Box<selftest::ServerArgs>),
    /// Runs the whole chain on this box: links, collectives, the server at each size under load, and why it is as fast as it is.
    Study(Box<StudyArgs>),
    /// Runs a study on a soft box, or on each, with the embedded engine; --full with an ablation, --list tells how long it takes.
    Demo(DemoArgs),
    /// Starts a server again and again with one thing of its link changed, to see whether its step follows.
    Ablate(Box<AblateArgs>),
    /// Explains result files of anyone's: why several GPUs give what they give.
    Explain(Box<ExplainArgs>),
    /// Prints what an engine's log says of how it ran, with the lines that say it.
    EngineLog(EngineLogArgs),
    /// Prints, writes or runs a rank's share of a model as a model of its own: TP2 less this is communication.
    HalfModel(Box<HalfModelArgs>),
    /// Predicts what a model takes on one GPU and on several, from a box's links and peak rates or from a result of one GPU.
    Predict(Box<PredictArgs>),
    /// Holds explanations against boxes whose truth is known, because the engine in virtual time was given it.
    Validate(ValidateArgs),
    /// Finds the largest request rate, or concurrency, at which latencies keep their limits.
    Slo(Box<SloArgs>),
    /// Runs a matrix of loads, each into a folder of its own, on servers that it starts.
    Sweep(Box<SweepArgs>),
    /// Says what a narrower link costs, from sweeps of one or several machines.
    SweepReport(SweepReportArgs),
    /// Prints what an earlier run measured, also one that was killed, or what another client's file says and what is wrong with it.
    Show {
        /// A result folder, a journal.jsonl or a record.json; or a result of vLLM's or SGLang's client, evalscope's, or a flat
        /// JSON summary. Several results, of one file or of many, become rows of tables.
        #[arg(value_name = "PATH", required = true)]
        paths: Vec<PathBuf>,
        /// Print CSV instead of tables.
        #[arg(long)]
        csv: bool,
        /// Write a run of ours to this file as a page, too.
        #[arg(long, value_name = "FILE")]
        html: Option<PathBuf>,
    },
    /// Writes several results as one page: throughput against latency, TTFT and TPOT by concurrency and by rate.
    Page(PageArgs),
    /// Compares two results, ours or anybody's, the first being the baseline.
    ///
    /// Refused with the reason and exit code 3 where they are not comparable: another model, streamed against not, other lengths
    /// or arrivals, another batch in flight, or failures. Exit code 1 where a metric is worse.
    Compare(Box<CompareArgs>),
}
