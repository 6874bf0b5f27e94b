//! `p2p-bw numa`: bandwidth and latency of every GPU, node, kind of memory and direction, and host memory by node.

mod args;
mod host;
mod plan;
mod run;
mod session;

use program::{Stop, outputs, say};
use supervisor::Interrupt;

pub(crate) use args::MeasureArgs;

use measure::render::{csv, text};
use program::outputs::Rendering;

/// Measures and prints; gives the exit code.
pub(crate) fn run(args: &MeasureArgs, interrupt: &Interrupt) -> Result<u8, Stop> {
    args.check().map_err(Stop::Usage)?;
    let ended = run::run(args, interrupt, &|line| say!("{line}"))?;
    let rendering = Rendering {
        text: text::links,
        csv: csv::links,
    };
    Ok(outputs::Outputs::finish(&args.outputs, &ended, rendering))
}
