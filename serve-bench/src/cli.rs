//! The command line: one subcommand each for what can be done with a serving engine.

use clap::Subcommand;

use crate::ablate::AblateArgs;
use crate::compare::CompareArgs;
use crate::engine_log::EngineLogArgs;
use crate::explain::ExplainArgs;
use crate::half::HalfModelArgs;
use crate::predict::PredictArgs;
use crate::show::ShowArgs;
use crate::slo::SloArgs;
use crate::study::{DemoArgs, StudyArgs};
use crate::sweep::SweepArgs;
use crate::{kv, load, route, selftest, server, split};

/// What the codes of `record::exit` mean here.
const EXIT_CODES: &str = "Exit codes: 0 done, 2 wrong command line or input, 3 inconclusive (requests failed, nothing could be measured or explained), 4 not written or a fault of the program, 5 wrong data (in a study), 129, 130, 143 ended by SIGHUP, SIGINT, SIGTERM with what was measured kept";

/// What can be done with a serving engine.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Measure a server under load, or start a simulated one
    ///
    /// Measures how a server of language models answers, and starts one that is simulated.
    #[command(after_help = EXIT_CODES)]
    Serve {
        #[command(subcommand)]
        command: ServeCommand,
    },
    /// Measure links, collectives and serving, and explain them
    ///
    /// Runs the whole chain on this box: links, collectives, the server at each size under load, and why it is as fast as it is.
    Study(Box<StudyArgs>),
    /// Play a study on a simulated machine
    ///
    /// Runs a study on a simulated machine with the embedded engine, in about a minute.
    Demo(DemoArgs),
    /// Change one thing of the link and see what serving does
    ///
    /// Starts a server again and again with one thing of its link changed, to see whether its step follows.
    Ablate(Box<AblateArgs>),
    /// Run a rank's share of a model as a model of its own
    ///
    /// Prints, writes or runs a rank's share of a model as a model of its own: TP2 less this is communication.
    Half(Box<HalfModelArgs>),
    /// Explain why several GPUs give what they give
    ///
    /// Explains result files of anyone's: why several GPUs give what they give.
    Explain(Box<ExplainArgs>),
    /// Predict what a model takes on one GPU and on several
    ///
    /// Predicts what a model takes on one GPU and on several, from a box's links and peak rates or from a result of one GPU.
    Predict(Box<PredictArgs>),
    /// Time the way of keys and values between engines
    ///
    /// Times the way of keys and values between a prefill and a decode engine, in the pieces that a model has.
    Kv(Box<kv::Args>),
}

#[derive(Debug, Subcommand)]
pub(crate) enum ServeCommand {
    #[command(alias = "serve")]
    /// Puts a load on a server with the OpenAI interface and measures TTFT, TPOT, ITL and end-to-end latency.
    Run(Box<load::Args>),
    /// Serves a simulated box over HTTP as vLLM would.
    Engine(Box<server::Args>),
    /// Gives prefill and decode engines one address.
    Route(Box<route::Args>),
    /// Prints the time to first token in parts, from a router's journal.
    Parts(route::PartsArgs),
    /// Checks what results claim: rates, slots, limits by the mean, prompts that were not computed.
    Check(split::CheckArgs),
    /// Measures this program's own error on this machine, against the embedded engine.
    Selftest(Box<selftest::Args>),
    /// Prints what an engine's log says of how it ran, with the lines that say it.
    EngineLog(EngineLogArgs),
    /// Finds the largest request rate, or concurrency, at which latencies keep their limits.
    Slo(Box<SloArgs>),
    /// Runs a matrix of loads, each into a folder of its own, on servers that it starts.
    Sweep(Box<SweepArgs>),
    /// Prints what earlier runs measured, also one that was killed, or what other clients' files hold.
    Show(ShowArgs),
    /// Compares two results, ours or anybody's, the first being the baseline.
    Compare(Box<CompareArgs>),
}
